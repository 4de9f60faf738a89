package audit

// AuditTogether is like Together, but takes the function that audits a directory.
var AuditTogether = together

// Order is the interface of the sorter that an audit uses.
type Order = order

// SortBy makes an audit use the sorters that f returns.
func (o *Options) SortBy(f func(temp string) Order) { o.order = f }
