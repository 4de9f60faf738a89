package report

import "github.com/permesso-crawler/permesso/internal/crawllog"

// Hook makes each method of a sorter call before first, and fail with its error. The sorter
// returns the results of value instead of the values that were added.
func (o *Options) Hook(before func() error, value func(key, value []byte) []byte) {
	o.order = func(temp string) order { return &hooked{crawllog.NewOrder(temp), before, value} }
}

type hooked struct {
	*crawllog.Order
	before func() error
	value  func(key, value []byte) []byte
}

func (h *hooked) Add(key, line []byte) error {
	if err := h.before(); err != nil {
		return err
	}
	return h.Order.Add(key, line)
}

func (h *hooked) Each(f func(key, line []byte) error) error {
	if err := h.before(); err != nil {
		return err
	}
	return h.Order.Each(func(key, line []byte) error { return f(key, h.value(key, line)) })
}

func (h *hooked) Close() error {
	h.Order.Close()
	return h.before()
}
