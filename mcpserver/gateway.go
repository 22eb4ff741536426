package mcpserver

import (
	"context"

	"peermux/internal/gateway"
	"peermux/registry"
)

// doors is this session's part in the gateway: its folders in the doors of apps.
func (s *Server) doors() gateway.Host {
	return gateway.Host{Board: s.board, Self: s.options.Self.ID, Current: func() (registry.Entry, bool) {
		e, _, visible := s.identity.current()
		return e, visible
	}}
}

// serveApps keeps those folders while the session lives.
func (s *Server) serveApps(ctx context.Context) { gateway.Serve(ctx, s.doors()) }
