#include "sampling/core/secrets.h"

#include <doctest/doctest.h>

namespace flowtrain::secrets_test {

TEST_CASE("the login and the query of an address are masked, and the rest of it stays") {
  const std::pair<const char*, const char*> cases[] = {
      {"reading http://user:passw0rd@host:80/a/b.tar failed", "reading http://***@host:80/a/b.tar failed"},
      {"https://token@host/x", "https://***@host/x"},
      {"https://us%40er:p%40ss%3A@host/x", "https://***@host/x"},
      {"https://user:p@ss@host/x", "https://***@host/x"},
      {"https://user:pa/ss?w@host/x", "https://***@host/x"},
      {"https://user:1/a@host/x@y", "https://user:1/a@host/x@y"},  // a port, and a path with @
      {"path = \"http://u:p\\\"q@h/x?sig=1\"  # a.toml:3", "path = \"http://***@h/x?***\"  # a.toml:3"},
      {"['http://u:p@h/a', 'ftp://v:q@i/b']", "['http://***@h/a', 'ftp://***@i/b']"},
      {"https://b.s3.amazonaws.com/k?X-Amz-Signature=ab12&X-Amz-Credential=A%2F1: 403 (a login)",
       "https://b.s3.amazonaws.com/k?***: 403 (a login)"},
      {"https://x.blob.core.windows.net/c/b?sv=2024&se=2026&sig=a%2Bb%3D.", "https://x.blob.core.windows.net/c/b?***."},
      {"next=http%3A%2F%2Fuser%3apw%40host%2Fx", "next=http%3A%2F%2F***%40host%2Fx"},
      {"s3://bucket/key@2.tar, hf://org/name@main", "s3://bucket/key@2.tar, hf://org/name@main"},
      {"http://[::1]:8700/a@b", "http://[::1]:8700/a@b"},
      {"see https://ui.perfetto.dev", "see https://ui.perfetto.dev"},
  };
  for (auto& [text, masked] : cases) CHECK(without_secrets(text) == masked);
}

TEST_CASE("values of secret names are masked in settings, options, parameters, JSON and headers") {
  const std::pair<const char*, const char*> cases[] = {
      {"train.tar?sig=abc&x=1&AWSAccessKeyId=AB&part=2", "train.tar?sig=***&x=1&AWSAccessKeyId=***&part=2"},
      {"a.tar?X%2DAmz%2DSignature=12ab", "a.tar?X%2DAmz%2DSignature=***"},
      {"#access_token=abc", "#access_token=***"},
      {"sampler.api_key = \"a\\\"b\"  # --set", "sampler.api_key = \"***\"  # --set"},
      {"password = '''a'b'''\nlr = 0.1", "password = '''***'''\nlr = 0.1"},
      {"passwords = [\"a\", \"b\"]", "passwords = [\"***\", \"***\"]"},
      {"--set sampler.token=abc --seed=3", "--set sampler.token=*** --seed=3"},
      {"{\"client_secret\": \"s\", \"name\": \"n\"}", "{\"client_secret\": \"***\", \"name\": \"n\"}"},
      {"{\\\"api_key\\\": \\\"s\\\"}", "{\\\"api_key\\\": \\\"***\\\"}"},
      {"Authorization: Basic dXNlcjpwdw==", "Authorization: ***"},
      {"headers = [\"X-Api-Key: abc\", \"Accept: b\"]", "headers = [\"X-Api-Key: ***\", \"Accept: b\"]"},
      {"bearer abcdefgh12345 and hf_abcdefghijklmnopqrstuv", "bearer *** and ***"},
      {"AKIAIOSFODNN7EXAMPLE", "***"},
  };
  for (auto& [text, masked] : cases) CHECK(without_secrets(text) == masked);
}

TEST_CASE("other text keeps its bytes, and a masked text is not masked again") {
  for (const char* text :
       {"", "loss = 0.5, tokens = 128, lr.head: 1e-3", "sampler.name: expected a token, got \"x\"",
        "key = \"a\"  # tiny.toml:3", "mask_token = 103", "a ? b : c", "100 % of http://host/a", "tokenizer = \"bpe\"",
        "author = \"me\"", "12:30:11 info going on", "C:\\data", "://", "a=", "password", "password = ", "[::]:80"})
    CHECK(without_secrets(text) == text);
  const auto masked = without_secrets("https://u:p@h/?a=b token=\"c\" --password=d");
  CHECK(masked == "https://***@h/?*** token=\"***\" --password=***");
  CHECK(without_secrets(masked) == masked);
  CHECK_FALSE(holds_secret(masked));
}

TEST_CASE("names of secrets are told from others") {
  for (const char* name : {"FLOWTRAIN_SERVE_TOKEN", "AWS_SECRET_ACCESS_KEY", "apiKey", "sampler.password", "hf-token",
                           "AWSAccessKeyId", "GITHUB_AUTH", "db_credentials", "service.private_key"})
    CHECK(is_secret_name(name));
  for (const char* name : {"tokens", "token_field", "key", "keys", "author", "tokenizer", "monkey", "path", ""})
    CHECK_FALSE(is_secret_name(name));
  for (const char* name : {"FLOWTRAIN_KEY", "OMP_PASSWD", "FLOWTRAIN_SERVE_TOKEN", "FLOWTRAIN_MY_AUTH"})
    CHECK(is_secret_variable(name));
  CHECK(shown_value("sampler.token", "\"abc\"") == "***");
  CHECK(shown_value("data.path", "\"http://u:p@h/x\"") == "\"http://***@h/x\"");
}

}  // namespace flowtrain::secrets_test
