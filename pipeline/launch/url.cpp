#include "pipeline/launch/url.h"

#include <charconv>
#include <string_view>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

constexpr std::string_view tcp = "tcp://";
constexpr std::string_view file_scheme = "file://";

[[noreturn]] void refuse(const std::string& url, const std::string& what) {
  throw UserError(
      ExitCode::usage, "--dist-url " + url + ": " + what,
      "Give tcp://HOST:PORT of the node with rank 0, file:///PATH on a disk that all nodes share, or env://.");
}

MeetingPoint parse_tcp(const std::string& url) {
  const std::string_view address = std::string_view(url).substr(tcp.size());
  const auto colon = address.rfind(':');
  std::string_view host = address.substr(0, colon);
  if (colon == address.npos || address.ends_with(']')) refuse(url, "no port");
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) refuse(url, "no host");
  if (host.find_first_of(bracketed ? "[]/@ " : "[]/@ :") != host.npos) refuse(url, "bad host name");
  const std::string_view digits = address.substr(colon + 1);
  int port = 0;
  auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || stop != digits.data() + digits.size() || port < 1 || port > 65535) {
    refuse(url, "the port must be a number from 1 to 65535");
  }
  return {.host = std::string(host), .port = port};
}

}  // namespace

MeetingPoint parse_dist_url(const std::string& url) {
  if (url.starts_with(tcp)) return parse_tcp(url);
  if (!url.starts_with(file_scheme)) refuse(url, "expected tcp:// or file:// or env://");
  MeetingPoint point{.file = url.substr(file_scheme.size())};
  if (point.file.size() < 2 || point.file.front() != '/') refuse(url, "expected an absolute path, as file:///path");
  return point;
}

std::string tcp_url(const std::string& host, int port) {
  const bool ipv6 = host.find(':') != host.npos && host.front() != '[';
  return std::string(tcp) + (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace flowtrain
