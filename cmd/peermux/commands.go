package main

// group is a heading of `peermux help` with its commands, in the order in
// which a person meets them.
type group struct {
	title    string
	commands []command
}

// groups lists every command. A new one needs a line here and a file that
// returns it.
func groups() []group {
	return []group{
		{"start", []command{setupCommand(), installHookCommand(), uninstallHookCommand(), demoCommand(), versionCommand()}},
		{"sessions", []command{listCommand(), topCommand(), upCommand(), downCommand(), readCommand(), transcriptsCommand(), wakeCommand(), runCommand(), whoamiCommand(), eventsCommand(), badgeCommand(), notifyCommand()}},
		{"mail", []command{sendCommand(), askCommand(), replyCommand(), inboxCommand(), doneCommand(), broadcastCommand(), retractCommand(), countCommand(), statusCommand(), groupCommand(), gatewayCommand()}},
		{"upkeep", []command{doctorCommand(), gcCommand()}},
		{"shell", []command{completionCommand(), completeCommand(), manCommand(), mcpCommand(), standInCommand(), leadCommand()}},
	}
}

func commands() []command {
	var all []command
	for _, g := range groups() {
		all = append(all, g.commands...)
	}
	return all
}
