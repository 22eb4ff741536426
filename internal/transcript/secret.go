package transcript

import (
	"slices"
	"strings"
)

// Masked stands where a secret was.
const Masked = "[masked]"

// Mask replaces what looks like a secret, and counts. It knows keys and tokens
// by the fixed beginnings that their makers gave them, private key blocks, web
// tokens, passwords in addresses, and values that are assigned to a name such
// as DB_PASSWORD. It would rather miss an unusual secret than hide ordinary
// words: nobody trusts a reader that masks "token: string".
func Mask(s string) (string, int) {
	spans := secretSpans(s)
	if len(spans) == 0 {
		return s, 0
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	n, end := 0, 0
	for _, sp := range spans {
		if sp.from < end { // found by two rules
			if sp.to > end {
				end = sp.to
			}
			continue
		}
		b.WriteString(s[end:sp.from])
		b.WriteString(Masked)
		n++
		end = sp.to
	}
	b.WriteString(s[end:])
	return b.String(), n
}

// span is a part of a text: from up to, not including, to.
type span struct{ from, to int }

func secretSpans(s string) []span {
	var spans []span
	for _, issued := range issuedTokens() {
		spans = append(spans, issued.find(s)...)
	}
	spans = append(spans, keyBlocks(s)...)
	spans = append(spans, webTokens(s)...)
	spans = append(spans, addressPasswords(s)...)
	spans = append(spans, bearerTokens(s)...)
	return append(spans, assignedSecrets(s)...)
}

// issued is a kind of token with a fixed beginning.
type issued struct {
	prefix   string
	min, max int    // characters after the prefix; max 0: any number
	chars    string // besides letters and digits
	mixed    bool   // the rest must hold a digit and a capital: the prefix alone says too little
}

// issuedTokens lists the beginnings; each is documented by its maker.
func issuedTokens() []issued {
	return []issued{
		{prefix: "sk-ant-", min: 20, chars: "-_"},
		{prefix: "sk-proj-", min: 20, chars: "-_"},
		{prefix: "sk-", min: 20, chars: "-_", mixed: true},
		{prefix: "xai-", min: 40, mixed: true},
		{prefix: "gsk_", min: 40, mixed: true},
		{prefix: "hf_", min: 30, mixed: true},
		{prefix: "ghp_", min: 36}, {prefix: "gho_", min: 36}, {prefix: "ghu_", min: 36},
		{prefix: "ghs_", min: 36}, {prefix: "ghr_", min: 36},
		{prefix: "github_pat_", min: 22, chars: "_"},
		{prefix: "glpat-", min: 20, chars: "-_."},
		{prefix: "xoxb-", min: 10, chars: "-"}, {prefix: "xoxp-", min: 10, chars: "-"},
		{prefix: "xoxa-", min: 10, chars: "-"}, {prefix: "xoxr-", min: 10, chars: "-"},
		{prefix: "xoxs-", min: 10, chars: "-"}, {prefix: "xapp-", min: 10, chars: "-"},
		{prefix: "AKIA", min: 16, max: 16, mixed: true}, {prefix: "ASIA", min: 16, max: 16, mixed: true},
		{prefix: "AIza", min: 35, max: 35, chars: "-_"},
		{prefix: "ya29.", min: 20, chars: "-_."},
		{prefix: "sk_live_", min: 16}, {prefix: "rk_live_", min: 16}, {prefix: "sk_test_", min: 16},
		{prefix: "whsec_", min: 16, chars: "+/="},
		{prefix: "npm_", min: 36, max: 36}, {prefix: "pypi-AgE", min: 50, chars: "-_"},
		{prefix: "dop_v1_", min: 64}, {prefix: "shpat_", min: 32},
		{prefix: "hvs.", min: 24, chars: "-_"}, {prefix: "dckr_pat_", min: 20, chars: "-_"},
		{prefix: "SG.", min: 60, chars: "-_.", mixed: true},
		{prefix: "AGE-SECRET-KEY-1", min: 50},
	}
}

func (k issued) find(s string) []span {
	var spans []span
	for at := 0; ; {
		i := strings.Index(s[at:], k.prefix)
		if i < 0 {
			return spans
		}
		from := at + i
		end := from + len(k.prefix)
		for end < len(s) && (isAlnum(s[end]) || strings.IndexByte(k.chars, s[end]) >= 0) {
			end++
		}
		at = end
		rest := s[from+len(k.prefix) : end]
		fits := len(rest) >= k.min && (k.max == 0 || len(rest) <= k.max)
		if fits && startsWord(s, from) && (!k.mixed || hasDigit(rest) && hasUpper(rest)) {
			spans = append(spans, span{from, end})
		}
	}
}

// startsWord reports whether no letter, digit, dash or underscore stands before
// s[i]: "task-force" holds no key that begins with "sk-". A line break written
// as \n counts as a break.
func startsWord(s string, i int) bool {
	if i == 0 || i >= 2 && s[i-2] == '\\' && strings.IndexByte("nrt", s[i-1]) >= 0 {
		return true
	}
	return !isAlnum(s[i-1]) && s[i-1] != '-' && s[i-1] != '_'
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func hasUpper(s string) bool { return strings.ToLower(s) != s }

func hasLetter(s string) bool {
	return strings.ToLower(s) != strings.ToUpper(s)
}

// keyBlocks finds private keys in PEM form; a block without its end reaches to
// the end of the text, and an end without its beginning from the start.
func keyBlocks(s string) []span {
	const begin, end, dashes = "-----BEGIN ", "-----END ", "-----"
	var spans []span
	private := func(i int, mark string) (after int, ok bool) {
		label, _, closed := strings.Cut(s[i+len(mark):], dashes)
		return i + len(mark) + len(label) + len(dashes), closed && len(label) < 40 && strings.Contains(label, "PRIVATE KEY")
	}
	open := -1
	for at := 0; at < len(s); {
		i := strings.Index(s[at:], dashes)
		if i < 0 {
			break
		}
		i += at
		at = i + len(dashes)
		if strings.HasPrefix(s[i:], begin) {
			if after, ok := private(i, begin); ok {
				open, at = i, after
			}
		} else if strings.HasPrefix(s[i:], end) {
			if after, ok := private(i, end); ok {
				spans = append(spans, span{max(open, 0), after})
				open, at = -1, after
			}
		}
	}
	if open >= 0 {
		spans = append(spans, span{open, len(s)})
	}
	return spans
}

// webTokens finds JSON web tokens: three parts, of which two are JSON.
func webTokens(s string) []span {
	var spans []span
	for at := 0; ; {
		i := strings.Index(s[at:], "eyJ")
		if i < 0 {
			return spans
		}
		from := at + i
		end := from
		for end < len(s) && (isAlnum(s[end]) || strings.IndexByte("-_.", s[end]) >= 0) {
			end++
		}
		at = end
		parts := strings.Split(s[from:end], ".")
		if len(parts) >= 3 && startsWord(s, from) && strings.HasPrefix(parts[1], "eyJ") && len(parts[0]) >= 12 && len(parts[2]) >= 12 {
			spans = append(spans, span{from, end})
		}
	}
}

// addressPasswords finds the password in scheme://user:password@host.
func addressPasswords(s string) []span {
	var spans []span
	for at := 0; ; {
		i := strings.Index(s[at:], "://")
		if i < 0 {
			return spans
		}
		from := at + i + 3
		at = from
		end := strings.IndexAny(s[from:], "/@ \t\n\"'`<>\\")
		if end < 0 || s[from+end] != '@' {
			continue
		}
		user, password, ok := strings.Cut(s[from:from+end], ":")
		if ok && len(password) >= 3 && !isReference(password) {
			spans = append(spans, span{from + len(user) + 1, from + end})
		}
	}
}

// bearerTokens finds what follows "Bearer " or "Basic " of an Authorization
// header.
func bearerTokens(s string) []span {
	var spans []span
	for _, word := range []string{"Bearer ", "bearer ", "Basic "} {
		for at := 0; ; {
			i := strings.Index(s[at:], word)
			if i < 0 {
				break
			}
			from := at + i + len(word)
			end := from
			for end < len(s) && (isAlnum(s[end]) || strings.IndexByte("-_.~+/=", s[end]) >= 0) {
				end++
			}
			at = end
			if token := s[from:end]; len(token) >= 16 && hasDigit(token) && hasLetter(token) {
				spans = append(spans, span{from, end})
			}
		}
	}
	return spans
}
