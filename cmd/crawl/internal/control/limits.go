package control

import (
	"fmt"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/setting"
)

// setLimit sets one limit from its text. The name is that of the setting for the limit
// (setting.Limits). The error says what is wrong with the text, or, for an unknown name, lists the
// names.
func setLimit(l *crawler.Limits, name, text string) error {
	o := crawler.Options{
		Budget: crawler.Budget{Limit: l.Pages, MaxBytes: l.Bytes, MaxTime: l.Time, Patience: l.Patience},
		Pace:   crawler.Pace{Rate: l.Rate, Concurrency: l.Concurrency},
	}
	for _, s := range o.Settings() {
		if s.Name != name || !slices.Contains(setting.Limits(), name) {
			continue
		}
		if err := s.Set(text); err != nil {
			return err
		}
		*l = crawler.Limits{Pages: o.Limit, Bytes: o.MaxBytes, Time: o.MaxTime, Patience: o.Patience, Rate: o.Rate, Concurrency: o.Concurrency, Open: l.Open}
		return nil
	}
	return fmt.Errorf("%q is not one of %s", name, strings.Join(setting.Limits(), ", "))
}
