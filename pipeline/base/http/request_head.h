#pragma once
// The head of a request, checked before any other code sees it.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flowtrain::http {

/// Limits of a head; longer ones are refused.
inline constexpr std::size_t most_head_bytes = 16'384, most_header_lines = 64, most_target_bytes = 2'048;

struct RequestHead {
  std::string method;  ///< GET or HEAD
  std::string target;  ///< text as sent: "/run/quickstart/?x=1"
  /// The headers that the server uses (host, cookie, authorization, if-none-match), once each, by name in lower case.
  std::map<std::string, std::string> headers;
};

/// The reason for refusing a request: a status from 400 to 499, or 505.
struct Refusal {
  int status;
  std::string why;
};

/// A request's path and query, decoded.
struct Target {
  std::vector<std::string> path;  ///< parts of the path: {"run", "quickstart", ""} for "/run/quickstart/"
  std::vector<std::pair<std::string, std::string>> query;

  /// Returns the first value of this name; empty if there is none.
  std::string value(std::string_view name) const;
};

/// Parses the head in `text`, which ends with an empty line. It refuses methods other than GET and HEAD, bodies, other
/// versions than HTTP/1.0 and 1.1, targets that are no path, names and values with characters that HTTP forbids, lines
/// without CR, continued lines, headers of the above that are there twice, and a request of HTTP/1.1 without a host.
std::optional<Refusal> parse_head(std::string_view text, RequestHead& head);

/// Decodes percent signs, once. Returns nothing for a wrong encoding, for control characters, and if a part of the path
/// has a slash or a backslash, is "." or "..", or is empty other than the last one.
std::optional<Target> parse_target(std::string_view target);

}  // namespace flowtrain::http
