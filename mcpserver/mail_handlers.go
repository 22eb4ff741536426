package mcpserver

import (
	"context"
	"encoding/json"
	"time"

	"peermux/internal/gateway"
	"peermux/internal/switchboard"
)

func runSend(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	var args sendArgs
	if err := decode("send_message", raw, &args); err != nil {
		return nil, err
	}
	a, err := s.identity.actor(ctx)
	if err != nil {
		return nil, err
	}
	return s.board.Send(ctx, a, switchboard.SendRequest{
		Target: args.Target, Body: args.Body, Subject: args.Subject, Urgency: args.Urgency,
		ReplyTo: args.ReplyTo, Task: args.Task, Wake: args.Wake,
	})
}

func runReply(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	var args replyArgs
	if err := decode("reply_to_message", raw, &args); err != nil {
		return nil, err
	}
	a, err := s.identity.actor(ctx)
	if err != nil {
		return nil, err
	}
	return s.board.Reply(ctx, a, switchboard.ReplyRequest{MessageID: args.MessageID, Body: args.Body, Done: args.Done})
}

func runAsk(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	var args askArgs
	if err := decode("ask_peer", raw, &args); err != nil {
		return nil, err
	}
	ms, note, err := number{name: "timeout_ms", min: 1, max: int(switchboard.MaxAsk.Milliseconds())}.read(args.TimeoutMS)
	if err != nil {
		return nil, err
	}
	a, err := s.identity.actor(ctx)
	if err != nil {
		return nil, err
	}
	res, delivery, err := s.board.Ask(ctx, a, switchboard.AskRequest{
		Target: args.Target, Targets: args.Targets, Body: args.Body, Subject: args.Subject,
		Timeout: time.Duration(ms) * time.Millisecond, Progress: callOf(ctx).report,
	})
	deliver(ctx, delivery)
	res.Notes = append(res.Notes, said(note)...)
	return res, err
}

func runRead(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	var args readArgs
	if err := decode("read_my_messages", raw, &args); err != nil {
		return nil, err
	}
	limit, note1, err := number{name: "limit", min: 1, max: switchboard.MaxRead, unset: switchboard.DefaultRead}.read(args.Limit)
	if err != nil {
		return nil, err
	}
	wait, note2, err := number{name: "wait_ms", min: 0, max: int(switchboard.MaxAsk.Milliseconds())}.read(args.WaitMS)
	if err != nil {
		return nil, err
	}
	a, err := s.identity.actor(ctx)
	if err != nil {
		return nil, err
	}
	res, delivery, err := s.board.Read(ctx, a, switchboard.ReadRequest{
		IncludeSeen: args.IncludeSeen, Limit: limit, Wait: time.Duration(wait) * time.Millisecond, Via: "read_my_messages",
	})
	deliver(ctx, delivery)
	res.Notes = append(res.Notes, said(note1, note2)...)
	return res, err
}

func runStatus(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	var args messageArgs
	if err := decode("message_status", raw, &args); err != nil {
		return nil, err
	}
	a, err := s.identity.actor(ctx)
	if err != nil {
		return nil, err
	}
	return s.board.Status(ctx, a, args.MessageID)
}

func runBroadcast(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	var args broadcastArgs
	if err := decode("broadcast", raw, &args); err != nil {
		return nil, err
	}
	a, err := s.identity.actor(ctx)
	if err != nil {
		return nil, err
	}
	return s.board.Broadcast(ctx, a, switchboard.BroadcastRequest{Body: args.Body, Scope: args.Scope, Kind: args.Kind, Urgency: args.Urgency})
}

func runRetract(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	var args messageArgs
	if err := decode("retract_message", raw, &args); err != nil {
		return nil, err
	}
	a, err := s.identity.actor(ctx)
	if err != nil {
		return nil, err
	}
	return gateway.Retract(ctx, s.doors(), a, args.MessageID)
}

func runOpenWork(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	if err := decode("my_open_work", raw, &noArgs{}); err != nil {
		return nil, err
	}
	a, err := s.identity.actor(ctx)
	if err != nil {
		return nil, err
	}
	return s.board.OpenWork(ctx, a)
}

func runComplete(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	return closeWork(ctx, s, raw, "complete_work", s.board.CompleteWork)
}

func runBlock(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	return closeWork(ctx, s, raw, "block_work", s.board.BlockWork)
}

type closer func(context.Context, switchboard.Actor, switchboard.CloseRequest) (switchboard.CloseResult, error)

func closeWork(ctx context.Context, s *Server, raw json.RawMessage, tool string, shut closer) (any, error) {
	var args closeArgs
	if err := decode(tool, raw, &args); err != nil {
		return nil, err
	}
	a, err := s.identity.actor(ctx)
	if err != nil {
		return nil, err
	}
	return shut(ctx, a, switchboard.CloseRequest{MessageID: args.MessageID, Body: args.Body})
}

func runSetGroup(ctx context.Context, s *Server, raw json.RawMessage) (any, error) {
	var args groupArgs
	if err := decode("set_group", raw, &args); err != nil {
		return nil, err
	}
	a, err := s.identity.actor(ctx)
	if err != nil {
		return nil, err
	}
	return s.board.SetGroup(ctx, a, args.Group)
}
