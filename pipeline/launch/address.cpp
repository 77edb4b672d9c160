#include "pipeline/launch/address.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "pipeline/launch/url.h"
#include "sampling/core/error.h"

namespace flowtrain {

namespace {

[[noreturn]] void refuse(const std::string& host, int port, const char* reason) {
  throw UserError(ExitCode::distributed, tcp_url(host, port) + ": " + reason, "is this the address of the first node?");
}

}  // namespace

std::string address_towards(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found))
    refuse(host, port, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
  int reason = EADDRNOTAVAIL;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    // A datagram socket's connect only looks for the route: nothing is sent.
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
  refuse(host, port, ::strerror(reason));
}

}  // namespace flowtrain
