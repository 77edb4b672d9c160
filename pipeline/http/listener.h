#pragma once
// Listens for clients that may be hostile, for httplib, which answers them.

#include <httplib.h>

#include <atomic>
#include <optional>
#include <string>

#include "pipeline/http/connection.h"
#include "pipeline/http/connection_limits.h"
#include "pipeline/http/request_head.h"

namespace flowtrain::http {

/// Where to listen, and how many clients are served.
struct ListenOptions {
  std::string host;
  int port = 0;          ///< 0: any free one
  int connections = 24;  ///< served at a time; further ones wait in the system's queue
  ConnectionLimits limits = {};
};

/// Reads the head of each request itself, with limits on time and size, and hands httplib what is sound. Serves one
/// request to a connection.
class Listener : public httplib::Server {
 public:
  explicit Listener(ListenOptions options);

  /// Begins to listen. Why that cannot be: the system's reason; empty: it does.
  std::string listen();
  int port() const { return port_; }
  /// Serves until end(). Call it once, after listen(). Where connections can no longer be taken, it listens anew; where
  /// that cannot be, it returns the reason.
  std::string serve();
  /// Ends serve() within moments, from any thread, also before it has begun.
  void end();

 protected:
  /// Nothing: the request may be answered. `head`: sound.
  virtual std::optional<Refusal> refused(const RequestHead& head) const = 0;

  const ListenOptions& options() const { return options_; }
  /// Of each answer, also where a request is refused.
  httplib::Headers headers_;

 private:
  bool process_and_close_socket(socket_t socket) override;
  void refuse(Connection& connection, const Refusal& refusal) const;

  const ListenOptions options_;
  int port_ = -1;
  std::atomic<bool> ending_ = false;
};

}  // namespace flowtrain::http
