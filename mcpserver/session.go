package mcpserver

import (
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// clientSession is the one client of this server, in the shape that mcp-go
// asks for. Its notification channel is only for what mcp-go itself sends;
// our own progress goes straight to the writer, in order with the results.
type clientSession struct {
	notifications chan mcp.JSONRPCNotification
	ready         atomic.Bool

	mu   sync.Mutex
	info mcp.Implementation
	caps mcp.ClientCapabilities
}

func newClientSession() *clientSession {
	return &clientSession{notifications: make(chan mcp.JSONRPCNotification, 16)}
}

func (s *clientSession) SessionID() string { return "stdio" }

func (s *clientSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }

func (s *clientSession) Initialize() { s.ready.Store(true) }

func (s *clientSession) Initialized() bool { return s.ready.Load() }

func (s *clientSession) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

func (s *clientSession) SetClientInfo(info mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.info = info
}

func (s *clientSession) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.caps
}

func (s *clientSession) SetClientCapabilities(caps mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caps = caps
}
