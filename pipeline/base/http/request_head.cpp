#include "pipeline/base/http/request_head.h"

#include <algorithm>
#include <array>

#include "sampling/core/parse.h"

namespace flowtrain::http {
namespace {

constexpr std::array<std::string_view, 4> kept_headers{"host", "cookie", "authorization", "if-none-match"};

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return c > 0x20 && c < 0x7F &&
           std::string_view("\"(),/:;<=>?@[\\]{}").find(static_cast<char>(c)) == std::string_view::npos;
  });
}

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
}

bool is_header_value(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7F); });
}

std::optional<Refusal> parse_request_line(std::string_view line, RequestHead& head) {
  const auto first = line.find(' '), second = line.find(' ', first + 1);
  if (first == line.npos || second == line.npos || line.find(' ', second + 1) != line.npos)
    return Refusal{400, "the request line does not have a method, a target and a version"};
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, second - first - 1);
  const auto version = line.substr(second + 1);
  if (!is_token(head.method)) return Refusal{400, "the method is not a word"};
  if (head.method != "GET" && head.method != "HEAD") return Refusal{405, "only GET and HEAD are served"};
  if (head.target.size() > most_target_bytes) return Refusal{414, "the target is too long"};
  if (!head.target.starts_with('/') || !is_visible(head.target)) return Refusal{400, "the target is not a path"};
  if (version == "HTTP/1.1" || version == "HTTP/1.0") return {};
  return version.starts_with("HTTP/") ? Refusal{505, "only HTTP/1.0 and 1.1 are served"}
                                      : Refusal{400, "the version is not valid"};
}

std::optional<Refusal> parse_header(std::string_view line, RequestHead& head) {
  const auto colon = line.find(':');
  if (colon == line.npos || !is_token(line.substr(0, colon))) return Refusal{400, "a header has no name"};
  const auto name = lower_case(line.substr(0, colon));
  const auto value = trimmed(line.substr(colon + 1), " \t");
  if (!is_header_value(value)) return Refusal{400, "a header has characters that it may not have"};
  if (name == "transfer-encoding" || (name == "content-length" && value != "0"))
    return Refusal{413, "a request may have no body"};
  if (name == "expect") return Refusal{417, "this server supports no Expect header"};
  if (std::ranges::find(kept_headers, name) == kept_headers.end()) return {};
  if (!head.headers.emplace(name, value).second) return Refusal{400, "the header " + name + " is there twice"};
  return {};
}

std::optional<std::string> decoded(std::string_view text, bool plus_is_blank) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const auto code = i + 2 < text.size() ? parse_number<unsigned char>(text.substr(i + 1, 2), 16) : std::nullopt;
      if (!code) return {};
      plain += static_cast<char>(*code);
      i += 2;
    } else {
      plain += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  if (std::ranges::any_of(plain, is_control)) return {};
  return plain;
}

}  // namespace

std::string Target::value(std::string_view name) const {
  const auto found = std::ranges::find(query, name, [](auto& each) { return std::string_view(each.first); });
  return found == query.end() ? "" : found->second;
}

std::optional<Refusal> parse_head(std::string_view text, RequestHead& head) {
  std::string_view version;
  std::size_t lines = 0;
  for (bool first = true;; first = false) {
    const auto newline = text.find('\n');
    if (newline == text.npos || newline == 0 || text[newline - 1] != '\r')
      return Refusal{400, "a line does not end with CR and LF"};
    const auto line = text.substr(0, newline - 1);
    text.remove_prefix(newline + 1);
    if (line.empty() && !first) break;
    if (++lines > most_header_lines) return Refusal{431, "there are too many headers"};
    if (first) version = line.substr(line.find_last_of(' ') + 1);
    if (auto refusal = first ? parse_request_line(line, head) : parse_header(line, head)) return refusal;
  }
  if (version == "HTTP/1.1" && !head.headers.contains("host")) return Refusal{400, "there is no Host header"};
  return {};
}

std::optional<Target> parse_target(std::string_view text) {
  Target target;
  const auto mark = std::min(text.find('?'), text.size());
  auto path = text.substr(0, mark), query = text.substr(std::min(mark + 1, text.size()));
  if (!path.starts_with('/')) return {};
  path.remove_prefix(1);
  for (bool more = true; more;) {
    const auto slash = std::min(path.find('/'), path.size());
    more = slash < path.size();
    const auto part = decoded(path.substr(0, slash), false);
    path.remove_prefix(more ? slash + 1 : slash);
    if (!part || *part == "." || *part == ".." || part->find_first_of("/\\") != part->npos || (part->empty() && more))
      return {};
    target.path.push_back(*part);
  }
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const auto pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const auto equals = std::min(pair.find('='), pair.size());
    const auto name = decoded(pair.substr(0, equals), true);
    const auto value = decoded(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) return {};
    target.query.emplace_back(*name, *value);
  }
  return target;
}

}  // namespace flowtrain::http
