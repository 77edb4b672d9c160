#include "pipeline/base/launch/url.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "pipeline/base/launch/variables.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"

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
  const auto port = parse_number<int>(address.substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) refuse(url, "the port must be a number from 1 to 65535");
  return {.host = std::string(host), .port = *port};
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

std::string address_towards(const std::string& host, int port) {
  const auto refusal = [&](const char* reason) {
    return UserError(ExitCode::distributed, tcp_url(host, port) + ": " + reason,
                     "is this the address of the first node?");
  };
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found))
    throw refusal(::gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
  int reason = EADDRNOTAVAIL;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    // A datagram socket's connect only finds the route and sends nothing.
    const int descriptor = ::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    const bool routed = descriptor >= 0 && ::connect(descriptor, each->ai_addr, each->ai_addrlen) == 0 &&
                        ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) == 0;
    if (!routed) reason = errno;
    if (descriptor >= 0) ::close(descriptor);
    char text[NI_MAXHOST];
    if (routed &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      return text;
  }
  throw refusal(::strerror(reason));
}

}  // namespace flowtrain
