package watch

// Forward passes the events of a subscription on to kicks, which several
// subscriptions may share: a kick that nobody has taken yet stands for all that
// follow, so kicks needs room for one. end stops the subscription and the passing
// on.
//
//	events, stop := w.Dir(path)
//	end := watch.Forward(kicks, events, stop)
func Forward(kicks chan<- struct{}, events <-chan struct{}, stop func()) (end func()) {
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-events:
				select {
				case kicks <- struct{}{}:
				default:
				}
			case <-ended:
				return
			}
		}
	}()
	return func() {
		stop()
		close(ended)
	}
}
