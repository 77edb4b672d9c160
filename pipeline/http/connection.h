#pragma once
// A client's socket with limits on time, as httplib's stream.

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "pipeline/http/connection_limits.h"
#include "pipeline/http/request_head.h"

namespace flowtrain::http {

/// Gives httplib the head that was checked, as a request of a few known lines, and then the end of the connection. Does
/// not own the socket.
class Connection : public httplib::Stream {
 public:
  /// `stopping`: ends all waiting.
  Connection(int socket, const ConnectionLimits& limits, const std::atomic<bool>& stopping);

  /// Reads and checks the head. A refusal with status 0: the client has gone, or is too slow.
  std::optional<Refusal> read_head(RequestHead& head);
  /// What read() gives from now on.
  void replay(const RequestHead& head);
  /// Ends the answer, and waits a moment for what the client still sends: closing at once would take the answer back.
  void finish();

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* bytes, size_t size) override;
  ssize_t write(const char* bytes, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool wait(short event, Clock::time_point end) const;

  const int socket_;
  const ConnectionLimits limits_;
  const std::atomic<bool>& stopping_;
  std::string replayed_;
  std::size_t replayed_bytes_ = 0;
  std::optional<Clock::time_point> answer_end_;
};

}  // namespace flowtrain::http
