#include "pipeline/http/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace flowtrain::http {

Connection::Connection(int socket, const ConnectionLimits& limits, const std::atomic<bool>& stopping)
    : socket_(socket), limits_(limits), stopping_(stopping) {}

// In short parts, so that the end of the server need not wait.
bool Connection::wait(short event, Clock::time_point end) const {
  constexpr std::chrono::milliseconds part(100);
  while (!stopping_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    pollfd ready{socket_, event, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::min(left, part).count()));
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
  }
  return false;
}

std::optional<Refusal> Connection::read_head(RequestHead& head) {
  const auto end = Clock::now() + limits_.head;
  std::string text;
  for (std::array<char, 4096> buffer;;) {
    if (!wait(POLLIN, end)) return Refusal{text.empty() ? 0 : 408, "the request did not come in time"};
    const auto got =
        ::recv(socket_, buffer.data(), std::min(buffer.size(), most_head_bytes - text.size()), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return Refusal{0, "the client has gone"};
    const auto before = text.size();
    text.append(buffer.data(), static_cast<std::size_t>(got));
    const auto last = text.find("\r\n\r\n", before < 3 ? 0 : before - 3);
    if (last != text.npos) return parse_head(std::string_view(text).substr(0, last + 4), head);
    if (text.size() < most_head_bytes) continue;
    const bool in_first_line = text.find('\n') == text.npos;
    return Refusal{in_first_line ? 414 : 431, "the head of the request is too long"};
  }
}

void Connection::replay(const RequestHead& head) {
  replayed_ = head.method + " " + head.target + " HTTP/1.1\r\n";
  for (auto& [name, value] : head.headers) replayed_ += name + ": " + value + "\r\n";
  replayed_ += "connection: close\r\n\r\n";
  replayed_bytes_ = 0;
}

ssize_t Connection::read(char* bytes, size_t size) {
  const auto count = std::min(size, replayed_.size() - replayed_bytes_);
  std::memcpy(bytes, replayed_.data() + replayed_bytes_, count);
  replayed_bytes_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* bytes, size_t size) {
  if (!answer_end_) answer_end_ = Clock::now() + limits_.answer;
  for (;;) {
    const auto sent = ::send(socket_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return sent;
    if (errno == EINTR) continue;
    if ((errno != EAGAIN && errno != EWOULDBLOCK) || !wait(POLLOUT, *answer_end_)) return -1;
  }
}

void Connection::finish() {
  ::shutdown(socket_, SHUT_WR);
  constexpr std::size_t most_bytes = 1 << 20;
  const auto end = Clock::now() + limits_.rest;
  std::array<char, 4096> ignored;
  for (std::size_t bytes = 0; bytes < most_bytes && wait(POLLIN, end);) {
    const auto got = ::recv(socket_, ignored.data(), ignored.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return;
    bytes += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
}

// httplib wants addresses; nothing uses them.
void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const { get_remote_ip_and_port(ip, port); }

}  // namespace flowtrain::http
