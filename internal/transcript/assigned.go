package transcript

import "strings"

// assignedSecrets finds values that are given to a name which says that they
// are secret: DB_PASSWORD=…, "client_secret": "…", api-key: ….
func assignedSecrets(s string) []span {
	var spans []span
	for at := 0; at < len(s); {
		i := strings.IndexAny(s[at:], "=:")
		if i < 0 {
			return spans
		}
		sign := at + i
		at = sign + 1
		name, inEnv := nameBefore(s, sign)
		if !namesSecret(name) || strings.HasPrefix(s[sign:], "==") {
			continue
		}
		from, to, quoted := valueAfter(s, sign+1)
		at = max(at, from)
		value := s[from:to]
		// A line of a .env file: capitals, no space around the sign.
		inEnv = inEnv && from == sign+1+quotes(s[sign+1:from])
		if isSecretValue(name, value, quoted || inEnv) {
			spans = append(spans, span{from, to})
			at = to
		}
	}
	return spans
}

func quotes(s string) int {
	return strings.Count(s, `"`) + strings.Count(s, "'") + strings.Count(s, `\`)
}

// nameBefore returns the name that an assignment sign follows, and whether it
// is in capitals and directly before the sign.
func nameBefore(s string, sign int) (name string, capitals bool) {
	end := sign
	for end > 0 && strings.IndexByte(" \"'`\\", s[end-1]) >= 0 && sign-end < 4 {
		end--
	}
	from := end
	for from > 0 && end-from < 64 && (isAlnum(s[from-1]) || strings.IndexByte("_-.", s[from-1]) >= 0) {
		from--
	}
	name = s[from:end]
	return strings.ToLower(name), end == sign && name != "" && strings.ToUpper(name) == name && s[sign] == '='
}

// namesSecret looks at the end of a name, so that token_type and secret_name
// are none.
func namesSecret(name string) bool {
	for _, word := range []string{
		"password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "api-key",
		"access_key", "access-key", "accesskey", "secret_key", "secret-key", "secretkey", "private_key", "private-key", "privatekey",
		"encryption_key", "signing_key", "auth_key", "account_key",
	} {
		if strings.HasSuffix(name, word) {
			return true
		}
	}
	return false
}

// valueAfter returns where the value after an assignment sign stands.
func valueAfter(s string, i int) (from, to int, quoted bool) {
	for i < len(s) && strings.IndexByte(" \t=>", s[i]) >= 0 { // := and =>
		i++
	}
	slash := i < len(s) && s[i] == '\\' // JSON inside JSON: \"token\": \"…\"
	if slash {
		i++
	}
	if i < len(s) && strings.IndexByte("\"'`", s[i]) >= 0 {
		end := strings.IndexByte(s[i+1:], s[i])
		if nl := strings.IndexByte(s[i+1:], '\n'); end >= 0 && (nl < 0 || end < nl) {
			to = i + 1 + end
			if slash && s[to-1] == '\\' {
				to--
			}
			return i + 1, max(to, i+1), true
		}
		i++
	}
	to = i
	for to < len(s) && strings.IndexByte(" \t\r\n,;\"'`)]}&<>\\|", s[to]) < 0 {
		to++
	}
	return i, to, false
}

// isSecretValue tells a secret from code, a type, a path or a placeholder.
func isSecretValue(name, value string, literal bool) bool {
	if len(value) < 6 || strings.HasPrefix(value, Masked[:7]) || isReference(value) {
		return false
	}
	password := strings.Contains(name, "pass")
	switch {
	case strings.ContainsAny(value, " \t"):
		return password && literal && hasDigit(value)
	case literal && !strings.HasSuffix(name, "token"):
		return len(value) >= 8 || password || hasDigit(value)
	case !hasLetter(value):
		return false // a count of tokens
	}
	return len(value) >= 8 && hasDigit(value) && (literal || !isCode(value))
}

// isReference reports whether a value only points at a secret, or stands for one.
func isReference(value string) bool {
	if strings.IndexByte("$<{(%*[.~@#!&", value[0]) >= 0 || strings.Contains(value, "://") {
		return true
	}
	if value[0] == '/' && strings.ContainsAny(value[1:], "/.") {
		return true // a path
	}
	lower := strings.ToLower(value)
	for _, word := range []string{"${", "{{", "...", "…", "your", "example", "placeholder", "changeme", "xxxx", "***", "env.", "environ", "getenv", "redacted", "masked", "dummy"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

// isCode reports whether an unquoted value is an expression: a call, an index,
// a member.
func isCode(value string) bool {
	if strings.ContainsAny(value, "([{") {
		return true
	}
	head, rest, ok := strings.Cut(value, ".")
	return ok && head != "" && rest != "" && !hasDigit(head) && hasLetter(head)
}
