#pragma once
// A client that sends any bytes, right or wrong.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>

namespace flowtrain::serve {

class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("the server does not listen");
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// False where the server has closed the connection.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  void end_sending() const { ::shutdown(socket_, SHUT_WR); }

  /// All that comes until the server closes the connection, or a minute is over.
  std::string receive() const {
    std::string all;
    for (std::array<char, 16384> buffer;;) {
      pollfd ready{socket_, POLLIN, 0};
      if (::poll(&ready, 1, 60'000) <= 0) throw std::runtime_error("the server keeps the connection");
      const auto got = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (got <= 0) return all;
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  int socket_;
};

/// Of one answer; 0: none came.
inline int status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
}

inline std::string body_of(const std::string& answer) {
  const auto end = answer.find("\r\n\r\n");
  return end == answer.npos ? "" : answer.substr(end + 4);
}

/// The value of a header; empty where it is not there.
inline std::string header_of(const std::string& answer, const std::string& name) {
  const auto at = answer.find("\r\n" + name + ": ");
  if (at == answer.npos || at > answer.find("\r\n\r\n")) return "";
  const auto begin = at + name.size() + 4;
  return answer.substr(begin, answer.find("\r\n", begin) - begin);
}

inline int times_of_answers(const std::string& text) {
  int count = 0;
  for (auto at = text.find("HTTP/1.1 "); at != text.npos; at = text.find("HTTP/1.1 ", at + 1)) ++count;
  return count;
}

inline std::string ask(int port, const std::string& bytes) {
  const Client client(port);
  client.send(bytes);
  return client.receive();
}

inline std::string get(int port, const std::string& target, const std::string& headers = "") {
  return ask(port, "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n");
}

}  // namespace flowtrain::serve
