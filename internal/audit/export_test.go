package audit

// AuditTogether is Together for crawls that are not in directories.
var AuditTogether = together

// Order is the interface of a sort.
type Order = order

// SortBy makes an audit sort with the orders that f returns.
func (o *Options) SortBy(f func(temp string) Order) { o.order = f }
