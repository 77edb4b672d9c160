#include "sampling/core/secrets.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <vector>

#include "sampling/core/parse.h"

namespace flowtrain {
namespace {

constexpr auto npos = std::string_view::npos;

bool is_space(char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_name(char c) { return is_word(c) || c == '_' || c == '-' || c == '.' || c == '%'; }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool starts_with_any_case(std::string_view text, std::string_view start) {
  return lower_case(text.substr(0, start.size())) == start;
}

/// Splits a name: "AWSAccessKeyId" and "aws_access-key.id" are aws, access, key, id.
std::vector<std::string> words_in_name(std::string_view name) {
  std::vector<std::string> words;
  bool inside = false;
  const auto is_upper = [&](std::size_t i) { return std::isupper(static_cast<unsigned char>(name[i])) != 0; };
  const auto is_lower = [&](std::size_t i) {
    return i < name.size() && std::islower(static_cast<unsigned char>(name[i])) != 0;
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_word(name[i])) {
      inside = false;
      continue;
    }
    const bool begins = inside && is_upper(i) && (!is_upper(i - 1) || is_lower(i + 1));
    if (!inside || begins) words.emplace_back();
    words.back() += lower(name[i]);
    inside = true;
  }
  return words;
}

bool is_secret_parameter(std::string_view name) {
  const std::string plain = lower_case(name);
  return is_any_of(plain, {"sig", "se", "key", "policy", "key-pair-id", "googleaccessid", "expires"}) ||
         plain.starts_with("x-amz-") || plain.starts_with("x-goog-") || is_secret_name(name);
}

/// Decodes percent signs: "%2B" is '+'.
std::string decoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto high = text[i] == '%' && i + 2 < text.size() ? digits.find(lower(text[i + 1])) : npos;
    const auto low = high == npos ? npos : digits.find(lower(text[i + 2]));
    if (low == npos) {
      plain += text[i];
    } else {
      plain += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return plain;
}

/// Copies a text piece by piece, with masks in between.
class Masking {
 public:
  explicit Masking(std::string_view text) : text_(text) {}

  std::string_view text() const { return text_; }
  /// Returns the end of what was copied or masked.
  std::size_t done() const { return done_; }
  void mask(std::size_t from, std::size_t to) {
    if (from < done_ || to <= from) return;
    result_.append(text_.substr(done_, from - done_)).append(secret_mask);
    done_ = to;
  }
  std::string finish() { return std::move(result_.append(text_.substr(done_))); }

 private:
  std::string_view text_;
  std::string result_;
  std::size_t done_ = 0;
};

/// Finds the first of `stops`, or a space, from `from` on; a backslash before a quote removes its meaning.
std::size_t end_of(std::string_view text, std::size_t from, std::string_view stops) {
  for (std::size_t i = from; i < text.size(); ++i)
    if (is_space(text[i]) || (stops.find(text[i]) != npos && (i == from || text[i - 1] != '\\'))) return i;
  return text.size();
}

/// Excludes a punctuation mark that ends a sentence.
std::size_t without_mark(std::string_view text, std::size_t from, std::size_t to) {
  while (to > from && std::string_view(".,:;").find(text[to - 1]) != npos) --to;
  return to;
}

bool is_port(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Finds the beginning of the host after a login. A login may hold raw slashes and question marks: no port follows its
/// colon then.
std::size_t host_in(std::string_view address, std::size_t authority) {
  if (const auto at = address.substr(0, authority).rfind('@'); at != npos) return at + 1;
  const auto colon = address.substr(0, authority).find(':');
  if (colon == npos || address.starts_with('[') || is_port(address.substr(colon + 1, authority - colon - 1))) return 0;
  const auto at = address.rfind('@');
  return at == npos ? 0 : at + 1;
}

std::string mask_addresses(std::string_view text) {
  Masking masking(text);
  for (auto at = text.find("://"); at != npos; at = text.find("://", std::max(at + 3, masking.done()))) {
    const auto begin = at + 3, end = end_of(text, begin, "\"<>`");
    const auto address = text.substr(begin, end - begin);
    const auto host = host_in(address, std::min(address.find_first_of("/?#"), address.size()));
    if (host > 1) masking.mask(begin, begin + host - 1);
    const auto query = address.find('?', host);
    if (query == npos) continue;
    const auto from = begin + query + 1;
    if (text.substr(from).starts_with(secret_mask)) continue;  // the rest was written with the mask in view
    masking.mask(from, without_mark(text, from, std::min(end_of(text, from, "\"'<>`)]}#"), end)));
  }
  return masking.finish();
}

std::string mask_encoded_addresses(std::string_view text) {
  Masking masking(text);
  const std::string plain = lower_case(text);
  for (auto at = plain.find("%3a%2f%2f"); at != npos; at = plain.find("%3a%2f%2f", at + 1)) {
    const auto begin = at + 9, end = std::min(end_of(text, begin, "\"'<>`&#"), plain.find("%2f", begin));
    const auto login = plain.substr(0, std::min(end, plain.size())).rfind("%40");
    if (login != npos && login > begin) masking.mask(begin, login);
  }
  return masking.finish();
}

std::string mask_parameters(std::string_view text) {
  Masking masking(text);
  for (auto at = text.find_first_of("?&;#"); at != npos; at = text.find_first_of("?&;#", at + 1)) {
    auto equals = at + 1;
    while (equals < text.size() && is_name(text[equals])) ++equals;
    if (equals == at + 1 || equals == text.size() || text[equals] != '=') continue;
    if (!is_secret_parameter(decoded(text.substr(at + 1, equals - at - 1)))) continue;
    masking.mask(equals + 1, without_mark(text, equals + 1, end_of(text, equals + 1, "&;#\"'<>`)]}")));
  }
  return masking.finish();
}

/// Returns the name that ends before `end`, in quotes or not, with optional spaces after it.
std::string_view name_before(std::string_view text, std::size_t end) {
  while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t')) --end;
  if (end > 0 && (text[end - 1] == '"' || text[end - 1] == '\'')) --end;
  if (end > 0 && text[end - 1] == '\\') --end;
  auto begin = end;
  while (begin > 0 && is_name(text[begin - 1])) --begin;
  while (begin < end && !is_word(text[begin])) ++begin;
  return text.substr(begin, end - begin);
}

/// Masks a quoted text that begins at `at`; returns its end.
std::size_t mask_quoted(Masking& masking, std::size_t at) {
  const auto text = masking.text();
  const char mark = text[at];
  const std::string three(3, mark);
  const bool long_text = text.substr(at, 3) == three && text.substr(at, 4) != three + mark;
  const auto begin = at + (long_text ? 3 : 1);
  const bool escaped = at > 0 && text[at - 1] == '\\';
  auto end = begin;
  for (; end < text.size(); ++end) {
    if (long_text ? text.substr(end, 3) == three : text[end] == mark) break;
    if (text[end] == '\\' && escaped && text.substr(end + 1, 1) == std::string_view(&mark, 1)) break;
    if (text[end] == '\\' && mark == '"' && !escaped) ++end;
  }
  end = std::min(end, text.size());
  masking.mask(begin, end);
  return end;
}

bool is_header(std::string_view name) {
  return is_any_of(lower_case(name), {"authorization", "cookie"}) || name.find('-') != npos;
}

void mask_value(Masking& masking, std::size_t separator, std::string_view name) {
  const auto text = masking.text();
  auto at = separator + 1;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  if (at < text.size() && text[at] == '\\' && at + 1 < text.size()) ++at;
  if (at == text.size()) return;
  const bool adjacent = at == separator + 1 && separator > 0 && !is_space(text[separator - 1]);
  if (text[at] == '"' || text[at] == '\'') {
    mask_quoted(masking, at);
  } else if (text[at] == '[') {
    const auto end = std::min(text.find_first_of("]\n", at), text.size());
    for (auto next = text.find_first_of("\"'", at); next < end; next = text.find_first_of("\"'", next + 1))
      next = mask_quoted(masking, next);
  } else if (text[separator] == '=' && adjacent) {
    masking.mask(at, end_of(text, at, "&;,\"'<>`)]}"));
  } else if (text[separator] == ':' && is_header(name)) {
    masking.mask(at, std::min(text.find_first_of("\"'\n\r", at), text.size()));
  }
}

std::string mask_settings(std::string_view text) {
  Masking masking(text);
  for (auto at = text.find_first_of("=:"); at != npos; at = text.find_first_of("=:", at + 1)) {
    if (at < masking.done()) continue;
    const auto name = name_before(text, at);
    if (!name.empty() && (is_secret_name(name) || is_any_of(lower_case(name), {"cookie", "set-cookie"})))
      mask_value(masking, at, name);
  }
  return masking.finish();
}

struct TokenForm {
  std::string_view start;
  std::size_t least;  ///< smallest number of bytes after the prefix
};
constexpr TokenForm token_forms[] = {{"hf_", 20},    {"ghp_", 20},  {"gho_", 20},  {"ghs_", 20}, {"github_pat_", 20},
                                     {"glpat-", 16}, {"xoxb-", 16}, {"xoxp-", 16}, {"AKIA", 16}, {"ASIA", 16},
                                     {"AIza", 30},   {"eyJ", 40},   {"sk-", 24},   {"npm_", 30}};

std::string mask_tokens(std::string_view text) {
  Masking masking(text);
  const auto end_of_token = [&](std::size_t at) {
    while (at < text.size() && (is_word(text[at]) || std::string_view("-._~+/=").find(text[at]) != npos)) ++at;
    return at;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '_')) continue;
    if (starts_with_any_case(text.substr(at), "bearer ")) {
      const auto end = end_of_token(at + 7);
      if (end >= at + 7 + 8) masking.mask(at + 7, end);
      continue;
    }
    for (auto& [start, least] : token_forms)
      if (text.substr(at).starts_with(start))
        if (const auto end = end_of_token(at); end >= at + start.size() + least) masking.mask(at, end);
  }
  return masking.finish();
}

/// Returns the values of variables with secret names, except paths and short words, which may occur anywhere.
const std::vector<std::string>& environment_secrets() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> values;
    for (char** variable = environ; variable && *variable; ++variable) {
      const std::string_view text = *variable;
      const auto split = std::min(text.find('='), text.size());
      const auto value = text.substr(std::min(split + 1, text.size()));
      if (value.size() >= 8 && !value.starts_with('/') && is_secret_name(text.substr(0, split)))
        values.emplace_back(value);
    }
    std::ranges::sort(values, std::greater(), [](auto& value) { return value.size(); });
    return values;
  }();
  return all;
}

std::string mask_environment(std::string text) {
  for (auto& value : environment_secrets())
    for (auto at = text.find(value); at != std::string::npos; at = text.find(value, at + secret_mask.size()))
      text.replace(at, value.size(), secret_mask);
  return text;
}

bool has_marks(std::string_view text) { return text.find_first_of(":=%") != npos; }

bool may_hold_token(std::string_view text) {
  return text.find("earer ") != npos ||
         std::ranges::any_of(token_forms, [&](auto& form) { return text.find(form.start) != npos; });
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const auto words = words_in_name(name);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_any_of(words[i], {"secret", "secrets", "password", "passwords", "passwd", "passphrase", "pwd", "credential",
                             "credentials", "apikey", "authorization", "signature", "sas", "jwt"}))
      return true;
    if (i > 0 && is_any_of(words[i], {"key", "keys"}) &&
        is_any_of(words[i - 1], {"api", "access", "private", "account", "shared", "signing", "encryption", "auth",
                                 "subscription", "service", "ssh"}))
      return true;
  }
  return !words.empty() && is_any_of(words.back(), {"token", "auth"});
}

bool is_secret_variable(std::string_view name) {
  const std::string plain = lower_case(name);
  constexpr std::array<std::string_view, 9> parts{"token",      "secret", "passw",     "pwd",   "key",
                                                  "credential", "auth",   "signature", "cookie"};
  return std::ranges::any_of(parts, [&](auto part) { return plain.find(part) != plain.npos; });
}

std::string without_secrets(std::string_view text) {
  std::string result(text);
  if (text.find("://") != npos) result = mask_addresses(result);
  if (has_marks(result)) {
    result = mask_encoded_addresses(result);
    result = mask_parameters(result);
    result = mask_settings(result);
  }
  if (may_hold_token(result)) result = mask_tokens(result);
  return mask_environment(std::move(result));
}

bool holds_secret(std::string_view text) { return without_secrets(text) != text; }

std::string shown_value(std::string_view name, std::string_view value) {
  return is_secret_name(name) && !value.empty() ? std::string(secret_mask) : without_secrets(value);
}

}  // namespace flowtrain
