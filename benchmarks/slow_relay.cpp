// Stands between HTTP clients and a server on this machine, and hands each request on a little later, as if the server
// were far away. Requests wait beside each other; answers are not held up.
//
//     build/release/bin/bench_slow_relay PORT SERVER_PORT DELAY_MS

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// Returns the result of a system call, or ends the program if it failed.
int checked(int result, const char* what) {
  if (result >= 0) return result;
  std::perror(what);
  std::exit(1);
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

void send_at_once(int socket) {
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

struct Connection;

/// One end of a connection.
struct End {
  int socket;
  Connection* connection;
};

struct Connection {
  End client, server;
  std::string unsent = {};  ///< to the client, which does not take it yet
  bool over = false;
};

/// A request on its way.
struct Late {
  Clock::time_point due;
  Connection* connection;
  std::string bytes;
};

class Relay {
 public:
  Relay(int port, int server_port, std::chrono::milliseconds delay) : server_(loopback(server_port)), delay_(delay) {
    const auto address = loopback(port);
    const int yes = 1;
    setsockopt(listener_.socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    checked(bind(listener_.socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), "bind");
    checked(listen(listener_.socket, 1024), "listen");
    watch(listener_, EPOLLIN);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 256> events;
    for (;;) {
      const int count = epoll_wait(epoll_, events.data(), events.size(), wait_ms());
      for (const auto& event : std::span(events).first(static_cast<std::size_t>(std::max(count, 0))))
        handle(*static_cast<End*>(event.data.ptr), event.events);
      hand_on();
      drop_ended();
    }
  }

 private:
  void watch(End& end, std::uint32_t what, int how = EPOLL_CTL_ADD) const {
    epoll_event event{.events = what, .data = {.ptr = &end}};
    checked(epoll_ctl(epoll_, how, end.socket, &event), "epoll_ctl");
  }

  int wait_ms() const {
    if (late_.empty()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(late_.front().due - Clock::now());
    return left.count() > 0 ? static_cast<int>(left.count()) : 0;
  }

  void handle(End& end, std::uint32_t events) {
    if (&end == &listener_) return accept_client();
    Connection& connection = *end.connection;
    if (connection.over) return;
    if (&end == &connection.client && (events & EPOLLOUT) != 0) return send_rest(connection);
    const auto got = recv(end.socket, buffer_.data(), buffer_.size(), 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return end_of(connection);
    const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(got));
    if (&end == &connection.client)
      late_.push_back({Clock::now() + delay_, &connection, std::string(bytes)});
    else
      answer(connection, bytes);
  }

  /// Accepts a client. If no server listens, its connection is closed.
  void accept_client() {
    const int client = accept4(listener_.socket, nullptr, nullptr, SOCK_NONBLOCK);
    if (client < 0) return;
    const int server = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
    if (connect(server, reinterpret_cast<const sockaddr*>(&server_), sizeof(server_)) != 0) {
      close(client);
      close(server);
      return;
    }
    send_at_once(client);
    send_at_once(server);
    auto* const connection = connections_.emplace_back(new Connection{{client, nullptr}, {server, nullptr}}).get();
    connection->client.connection = connection->server.connection = connection;
    watch(connection->client, EPOLLIN);
    watch(connection->server, EPOLLIN);
  }

  void hand_on() {
    for (; !late_.empty() && late_.front().due <= Clock::now(); late_.pop_front()) {
      auto& [due, connection, bytes] = late_.front();
      if (!connection->over && send(connection->server.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0)
        end_of(*connection);
    }
  }

  void answer(Connection& connection, std::string_view bytes) {
    const auto sent = send(connection.client.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) return end_of(connection);
    connection.unsent = bytes.substr(sent < 0 ? 0 : static_cast<std::size_t>(sent));
    if (connection.unsent.empty()) return;
    watch(connection.client, EPOLLOUT, EPOLL_CTL_MOD);
    watch(connection.server, 0, EPOLL_CTL_MOD);
  }

  void send_rest(Connection& connection) {
    const auto rest = std::move(connection.unsent);
    answer(connection, rest);
    if (connection.over || !connection.unsent.empty()) return;
    watch(connection.client, EPOLLIN, EPOLL_CTL_MOD);
    watch(connection.server, EPOLLIN, EPOLL_CTL_MOD);
  }

  void end_of(Connection& connection) {
    connection.over = true;
    close(connection.client.socket);
    close(connection.server.socket);
  }

  /// Removes ended connections that no late request refers to.
  void drop_ended() {
    std::unordered_set<const Connection*> spoken_of;
    bool any = false;
    for (const auto& connection : connections_) any |= connection->over;
    if (!any) return;
    for (const auto& late : late_) spoken_of.insert(late.connection);
    std::erase_if(connections_, [&](const auto& each) { return each->over && !spoken_of.contains(each.get()); });
  }

  int epoll_ = checked(epoll_create1(0), "epoll_create1");
  End listener_{checked(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket"), nullptr};
  sockaddr_in server_;
  std::chrono::milliseconds delay_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::deque<Late> late_;  ///< in order of `due`: the delay is the same for all
  std::array<char, 256 << 10> buffer_;
};

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: %s PORT SERVER_PORT DELAY_MS\n", words[0]);
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  static Relay relay(std::atoi(words[1]), std::atoi(words[2]), std::chrono::milliseconds(std::atoi(words[3])));
  relay.run();
}
