#pragma once
// An HTTP server on loopback for tests. What it answers, rightly or wrongly, is up to the test.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sampling/core/mutex.h"

namespace flowtrain {

/// A file to serve, without a pattern.
inline std::string bytes_of(std::size_t count) {
  std::string bytes(count, '\0');
  std::uint32_t state = 1;
  for (auto& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

class HttpServer {
 public:
  struct Request {
    std::string target;
    std::map<std::string, std::string> headers;  ///< names in lower case
    int connection;                              ///< from 0
    std::uint64_t first, last;                   ///< the first and last byte of the range

    std::string header(const std::string& name) const {
      const auto found = headers.find(name);
      return found == headers.end() ? "" : found->second;
    }
  };

  struct Reply {
    int status = 206;
    std::vector<std::string> headers = {};
    std::string body = {};
    std::optional<std::size_t> length = {};  ///< Content-Length where it is not the body's
    std::optional<std::size_t> cut = {};     ///< the connection is closed after so many bytes of the body
    bool stall = false;                      ///< no bytes are sent until the client disconnects
    std::function<void()> before = [] {};    ///< called before it is sent; others are served meanwhile
  };

  /// Gets the request and its number, from 0. Called by one thread at a time.
  using Handler = std::function<Reply(const Request&, int)>;

  explicit HttpServer(Handler handler) : handler_(std::move(handler)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || bind(listener_, plain, size) != 0 || listen(listener_, 64) != 0 ||
        getsockname(listener_, plain, &size) != 0)
      throw std::runtime_error("no socket for the test's server");
    port_ = ntohs(address.sin_port);
    setenv("no_proxy", "127.0.0.1", 1);  // a proxy of the machine knows nothing of this server
    acceptor_ = std::jthread([this] { accept_all(); });
  }
  ~HttpServer() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    {
      const MutexLock lock(mutex_);
      for (const int client : clients_) shutdown(client, SHUT_RDWR);
    }
    threads_.clear();  // joins
    for (const int client : clients_) close(client);
    close(listener_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// "http://127.0.0.1:PORT/" and `name`.
  std::string url(const std::string& name = "") const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + name;
  }
  std::vector<Request> requests() const {
    const MutexLock lock(mutex_);
    return requests_;
  }
  /// Requests that were there and not yet answered, at most.
  int most_at_once() const { return most_at_once_; }

  /// Returns the answer of a correct server.
  static Reply range_of(std::string_view bytes, const Request& request, const std::string& tag = "\"v1\"") {
    if (request.first >= bytes.size())
      return {.status = 416, .headers = {"Content-Range: bytes */" + std::to_string(bytes.size())}};
    const auto last = std::min<std::uint64_t>(request.last, bytes.size() - 1);
    return {.headers = {"Content-Range: bytes " + std::to_string(request.first) + '-' + std::to_string(last) + '/' +
                            std::to_string(bytes.size()),
                        "ETag: " + tag},
            .body = std::string(bytes.substr(request.first, last - request.first + 1))};
  }

 private:
  void accept_all() {
    for (;;) {
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      const MutexLock lock(mutex_);
      const int number = static_cast<int>(clients_.size());
      clients_.push_back(client);
      threads_.emplace_back([this, client, number] { serve(client, number); });
    }
  }

  void serve(int client, int number) {
    std::string unread;
    while (const auto request = receive(client, unread, number)) {
      Reply reply;
      {
        const MutexLock lock(mutex_);
        requests_.push_back(*request);
        most_at_once_ = std::max<int>(most_at_once_, ++at_once_);
        reply = handler_(*request, static_cast<int>(requests_.size()) - 1);
      }
      reply.before();
      if (reply.stall) {
        char ignored;
        while (recv(client, &ignored, 1, 0) > 0) {
        }
        break;
      }
      --at_once_;
      if (!send_all(client, reply) || reply.cut) break;
    }
    shutdown(client, SHUT_RDWR);  // closed by the destructor: its number must not be used again before
  }

  static std::optional<Request> receive(int client, std::string& unread, int number) {
    std::size_t end;
    while ((end = unread.find("\r\n\r\n")) == unread.npos) {
      char buffer[4096];
      const auto got = recv(client, buffer, sizeof(buffer), 0);
      if (got <= 0) return {};
      unread.append(buffer, static_cast<std::size_t>(got));
    }
    const auto head = unread.substr(0, end + 2);
    unread.erase(0, end + 4);
    Request request{.target = {}, .headers = {}, .connection = number, .first = 0, .last = UINT64_MAX};
    const auto space = head.find(' ');
    request.target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
    for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
      const auto loader_end = head.find("\r\n", at);
      const auto line = head.substr(at, loader_end - at);
      const auto colon = line.find(": ");
      auto name = line.substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      request.headers[name] = line.substr(colon + 2);
      at = loader_end + 2;
    }
    if (const auto range = request.header("range"); range.starts_with("bytes=")) {
      request.first = std::stoull(range.substr(6));
      request.last = std::stoull(range.substr(range.find('-') + 1));
    }
    return request;
  }

  static bool send_all(int client, const Reply& reply) {
    auto text = "HTTP/1.1 " + std::to_string(reply.status) +
                " Something\r\nContent-Length: " + std::to_string(reply.length.value_or(reply.body.size())) + "\r\n";
    for (const auto& header : reply.headers) text += header + "\r\n";
    text += "\r\n" + reply.body.substr(0, reply.cut.value_or(reply.body.size()));
    for (std::string_view rest = text; !rest.empty();) {
      const auto sent = send(client, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  mutable Mutex mutex_;
  Handler handler_ FT_GUARDED_BY(mutex_);
  int listener_;
  int port_ = 0;
  std::vector<Request> requests_ FT_GUARDED_BY(mutex_);
  std::atomic<int> at_once_{0}, most_at_once_{0};
  std::vector<int> clients_ FT_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_ FT_GUARDED_BY(mutex_);
  std::jthread acceptor_;
};

}  // namespace flowtrain
