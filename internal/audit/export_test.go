package audit

// AuditTogether is Together for crawls that are in no directory.
var AuditTogether = together

// An Order sorts.
type Order = order

// SortBy has an audit sort by the orders that f returns.
func (o *Options) SortBy(f func(temp string) Order) { o.order = f }
