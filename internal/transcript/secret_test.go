package transcript

import (
	"strings"
	"testing"
)

// Test values are put together here, so that no scanner of this repository
// takes them for real.
var (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	body36  = letters[20:56]
	body40  = letters[15:55]
	jwt     = "eyJhbGciOiJIUzI1NiJ9" + "." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0" + "." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
	pemKey  = "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE " + "KEY-----"
)

func TestMask(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"Anthropic", "key sk-ant-" + "api03-" + body40 + " used", "key [masked] used"},
		{"OpenAI project", "sk-proj-" + body40, "[masked]"},
		{"OpenAI old", "(sk-" + body40 + ")", "([masked])"},
		{"GitHub", "git clone https://x:ghp_" + body36 + "@github.com/a/b", "git clone https://x:[masked]@github.com/a/b"},
		{"GitHub fine-grained", "github_pat_" + body40, "[masked]"},
		{"GitLab", "glpat-" + body36[:20], "[masked]"},
		{"Slack", "xoxb-" + "123456789012-" + body36[:12], "[masked]"},
		{"AWS id", "id AKIA" + "Q3EGRTBPSCXLZ4WN.", "id [masked]."},
		{"AWS secret", "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY", "aws_secret_access_key = [masked]"},
		{"Google", "AIza" + body40[:35], "[masked]"},
		{"Stripe", "sk_live_" + body36[:24], "[masked]"},
		{"npm", "//registry/:_authToken=npm_" + body36, "//registry/:_authToken=[masked]"},
		{"web token", "cookie=" + jwt + "; path=/", "cookie=[masked]; path=/"},
		{"bearer", "Authorization: Bearer " + body40, "Authorization: Bearer [masked]"},
		{"basic", `-H "Authorization: Basic dXNlcjpwYXNzd29yZDEyMw=="`, `-H "Authorization: Basic [masked]"`},
		{"private key", "a\n" + pemKey + "\nb", "a\n[masked]\nb"},
		{"private key without its end", "a\n" + pemKey[:60], "a\n[masked]"},
		{"private key without its beginning", pemKey[40:] + "\nb", "[masked]\nb"},
		{"two private keys", pemKey + "\n--\n" + pemKey, "[masked]\n--\n[masked]"},
		{"password in an address", "postgres://app:s3cr3t-pw@db:5432/x", "postgres://app:[masked]@db:5432/x"},
		{"env file", "DB_PASSWORD=hunter2\nPORT=1", "DB_PASSWORD=[masked]\nPORT=1"},
		{"env file, quoted", `export API_KEY="9f8e7d6c5b"`, `export API_KEY="[masked]"`},
		{"YAML", "password: tr0ub4dor&3", "password: [masked]&3"},
		{"JSON", `{"client_secret": "correct-horse-battery"}`, `{"client_secret": "[masked]"}`},
		{"JSON in JSON", `{\"api_key\":\"a1b2c3d4e5f6\"}`, `{\"api_key\":\"[masked]\"}`},
		{"Go code", `token := "a1b2c3d4e5f6g7"`, `token := "[masked]"`},
		{"flag", "curl --token=a1b2c3d4e5f6 x", "curl --token=[masked] x"},
	} {
		got, n := Mask(tt.in)
		if got != tt.want {
			t.Errorf("%s: Mask(%q)\n got %q\nwant %q", tt.name, tt.in, got, tt.want)
		}
		if want := strings.Count(tt.want, Masked); n != want {
			t.Errorf("%s: counted %d, want %d", tt.name, n, want)
		}
	}
}

// Words of everyday work that must stay readable.
func TestMaskLeavesOrdinaryWords(t *testing.T) {
	for _, s := range []string{
		"task-force-for-the-whole-department-2026",
		"risk-assessment: sk-learn is a library, sk-something-with-no-digits-at-all",
		"the token count is 12345678, max_tokens: 4096",
		"token: string; password: string | undefined",
		"func token(s string) (token.Token, error) { token = lexer.next() }",
		"password = os.Getenv(\"DB_PASSWORD\")",
		"password: process.env.DB_PASSWORD1",
		"API_KEY=$API_KEY DB_PASSWORD=${DB_PASSWORD1:-}",
		"password: <your password>",
		`"api_key": "YOUR_API_KEY_1"`,
		"Password: ********",
		"total_token=123456789",
		"secret_name: my-database-credentials-1",
		"token_type=bearer2something",
		"commit 3f786850e387550fdab836ed7e6dc881de23001b",
		"uuid 01a22c3a-79f8-7611-ab5b-377b9c4b5195",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"https://example.com/path?x=1 http://[::1]:8080/",
		"ssh git@github.com:owner/repo.git",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
		"eyJ is how base64 of {\" begins",
		"AKIA is a prefix; AKIAIOSFODNN is too short",
		"the bearer of this letter, Bearer tokens, Basic authentication",
		"keyboard: qwerty1234, monkey: banana12345",
		"secret=/run/secrets/db_password1",
		"if token == nextToken1 { return }",
		"ghp_short, npm_config_registry, hf_hub_download_with_a_long_name_here",
		"a key: value pair, key=value1234567",
		Masked,
	} {
		if got, n := Mask(s); got != s || n != 0 {
			t.Errorf("Mask(%q) = %q, %d", s, got, n)
		}
	}
}

func TestMaskIsOptional(t *testing.T) {
	c := new(claude).user("DB_PASSWORD=hunter2")
	file, _ := c.write(t)
	if tail := mustRead(t, file, Options{Unmasked: true}); tail.Turns[0].Text != "DB_PASSWORD=hunter2" || tail.Masked != 0 {
		t.Errorf("got %+v", tail.Turns[0])
	}
	if tail := mustRead(t, file, Options{}); tail.Turns[0].Text != "DB_PASSWORD="+Masked || tail.Masked != 1 {
		t.Errorf("got %+v, masked %d", tail.Turns[0], tail.Masked)
	}
}

// A text is cut between words before it is masked, so no part of a secret stays.
func TestNoHalfSecret(t *testing.T) {
	secret := "sk-ant-" + "api03-" + strings.Repeat(body40, 3)
	for pad := range 400 {
		c := new(claude).user("go").call("c1", "env")
		c.result("c1", strings.Repeat("word ", 1000)+strings.Repeat("x", pad)+" "+secret+" "+strings.Repeat("word ", 1000))
		data := []byte(c.String())
		tail, err := readBytes(testSession+".jsonl", data, Options{MaxBytes: 8 << 10})
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(&tail); strings.Contains(got, "sk-ant") || strings.Contains(got, body40[:10]) {
			t.Fatalf("pad %d: a part of the secret is shown: %s", pad, got)
		}
	}
}

func FuzzMask(f *testing.F) {
	for _, s := range []string{"DB_PASSWORD=hunter2", pemKey, "sk-" + body40, "x://u:p@h", `{"token":"a1b2c3d4e5"}`, "token=", "token=\"", "=:=:", "-----BEGIN -----END PRIVATE KEY-----"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, n := Mask(s)
		if (n == 0) != (got == s) && !strings.Contains(s, Masked) {
			t.Fatalf("Mask(%q) = %q, %d", s, got, n)
		}
		if n > strings.Count(got, Masked) {
			t.Fatalf("Mask(%q) = %q counts %d", s, got, n)
		}
	})
}
