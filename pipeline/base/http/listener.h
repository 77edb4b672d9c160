#pragma once
// A server for clients that may be hostile: it reads the head of each request itself, with limits on time and size.

#include <memory>
#include <optional>
#include <string>

#include "pipeline/base/http/connection_limits.h"
#include "pipeline/base/http/request_head.h"
#include "pipeline/base/http/response.h"

namespace flowtrain::http {

/// The address of the server, and limits on its clients.
struct ListenOptions {
  std::string host;
  int port = 0;           ///< 0: any free one
  int threads = 4;        ///< number of threads that make answers; further requests wait. A slow client holds none
  int connections = 256;  ///< open connections; a further one closes the oldest that has not sent its request
  ConnectionLimits limits = {};
};

/// Serves one request per connection. asio waits for clients, so that a slow or silent one costs only a socket.
class Listener {
 public:
  explicit Listener(ListenOptions options);
  virtual ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Begins to listen. Returns the system's reason if that fails, and otherwise an empty text.
  std::string listen();
  int port() const { return port_; }
  /// Serves until end(). Call it once, after listen().
  void serve();
  /// Ends serve() within moments, from any thread, even before it has begun.
  void end();

 protected:
  /// Returns why the request is not answered, or nothing. `head` is a sound one.
  virtual std::optional<Refusal> refused(const RequestHead& head) const = 0;
  /// Answers a request that was not refused, on any of the answering threads. An exception becomes an answer with
  /// status 500 and a warning in the log.
  virtual Response answer(const RequestHead& head) = 0;

  const ListenOptions& options() const { return options_; }
  /// The headers of each answer, refusals included.
  Headers headers_;

 private:
  class Connection;
  struct Io;

  void accept();
  void take(const std::shared_ptr<Connection>& connection);
  Response respond(const RequestHead& head);

  const ListenOptions options_;
  int port_ = -1;
  std::unique_ptr<Io> io_;
};

}  // namespace flowtrain::http
