package faults

func (w *worker) fill() error   { return nil }
func (w *worker) denied() error { return nil }
