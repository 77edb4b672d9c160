#pragma once
// A server for clients that may be hostile: it reads the head of each request itself, with limits on time and size.

#include <memory>
#include <optional>
#include <string>

#include "pipeline/base/http/connection_limits.h"
#include "pipeline/base/http/request_head.h"
#include "pipeline/base/http/response.h"

namespace flowtrain::http {

/// Where to listen, and how many clients are served.
struct ListenOptions {
  std::string host;
  int port = 0;           ///< 0: any free one
  int threads = 4;        ///< that make answers; further requests wait. A slow client holds none of them
  int connections = 256;  ///< open at a time; a further one closes the oldest that has not sent its request
  ConnectionLimits limits = {};
};

/// Serves one request to a connection. asio waits for clients, so that a slow or silent one costs a socket alone.
class Listener {
 public:
  explicit Listener(ListenOptions options);
  virtual ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Begins to listen. Returns the system's reason where that cannot be; an empty text: it listens.
  std::string listen();
  int port() const { return port_; }
  /// Serves until end(). Call it once, after listen().
  void serve();
  /// Ends serve() within moments, from any thread, also before it has begun.
  void end();

 protected:
  /// Returns why the request is not answered, or nothing. `head` is a sound one.
  virtual std::optional<Refusal> refused(const RequestHead& head) const = 0;
  /// The answer to a request that was not refused. Any of the answering threads calls it. What it throws becomes an
  /// answer with status 500 and a warning in the log.
  virtual Response answer(const RequestHead& head) = 0;

  const ListenOptions& options() const { return options_; }
  /// Each answer has these, also where a request is refused.
  Headers headers_;

 private:
  class Connection;
  struct Io;

  void accept();
  void take(std::shared_ptr<Connection> connection);
  Response respond(const RequestHead& head);

  const ListenOptions options_;
  int port_ = -1;
  std::unique_ptr<Io> io_;
};

}  // namespace flowtrain::http
