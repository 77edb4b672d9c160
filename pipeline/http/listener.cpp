#include "pipeline/http/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <semaphore>
#include <utility>

#include "pipeline/http/host.h"
#include "pipeline/telemetry/log.h"
#include "sampling/core/text.h"

namespace flowtrain::http {
namespace {

// httplib's threads, where a connection waits for a free one before it is taken: httplib's own list of those that wait
// has no end.
class BoundedThreads : public httplib::TaskQueue {
 public:
  explicit BoundedThreads(int count) : free_(count), threads_(static_cast<std::size_t>(count)) {}

  void enqueue(std::function<void()> serve) override {
    free_.acquire();
    threads_.enqueue([this, serve = std::move(serve)] {
      serve();
      free_.release();
    });
  }
  void shutdown() override { threads_.shutdown(); }

 private:
  std::counting_semaphore<> free_;
  httplib::ThreadPool threads_;
};

// SO_REUSEADDR alone: with httplib's SO_REUSEPORT a second server takes the same port, and half of the requests.
void set_options(socket_t socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

}  // namespace

Listener::Listener(ListenOptions options) : options_(std::move(options)) {
  new_task_queue = [this] { return new BoundedThreads(options_.connections); };  // httplib deletes it
  set_socket_options(set_options);
}

std::string Listener::listen() {
  errno = 0;
  const int wanted = port_ > 0 ? port_ : options_.port;
  if (wanted == 0)
    port_ = bind_to_any_port(options_.host);
  else
    port_ = bind_to_port(options_.host, wanted) ? wanted : -1;
  if (port_ <= 0) return errno != 0 ? std::strerror(errno) : "no such host";
  constexpr int waiting = 128;  // httplib has 5, and a browser that finds no place tries again after a second
  ::listen(svr_sock_, waiting);
  return {};
}

// httplib gives up at most errors of accept(), as where the system has no room for another socket.
std::string Listener::serve() {
  while (!ending_) {
    listen_after_bind();
    if (ending_) break;
    const std::string reason = std::strerror(errno);
    const std::string address = host_and_port(options_.host, port_);
    log_warn(concat("connections to ", address, " cannot be taken: ", reason, "; listening anew"));
    if (auto refused = listen(); !refused.empty()) return concat("cannot listen at ", address, " again: ", refused);
  }
  return {};
}

// httplib's stop() does nothing before it listens, and this may come at any moment: accept() fails from now on.
void Listener::end() {
  ending_ = true;
  ::shutdown(svr_sock_, SHUT_RDWR);
}

// Called by httplib with each connection.
bool Listener::process_and_close_socket(socket_t socket) {
  Connection connection(socket, options_.limits, ending_);
  RequestHead head;
  auto refusal = connection.read_head(head);
  if (!refusal) refusal = refused(head);
  if (refusal) {
    if (refusal->status > 0) refuse(connection, *refusal);
  } else {
    connection.replay(head);
    bool closed = false;
    process_request(connection, /*close_connection=*/true, closed, nullptr);
  }
  connection.finish();
  ::close(socket);
  return true;
}

void Listener::refuse(Connection& connection, const Refusal& refusal) const {
  const std::string body = concat(refusal.status, ": ", refusal.why, "\n");
  std::string text =
      concat("HTTP/1.1 ", refusal.status, " Refused\r\nContent-Type: text/plain\r\nContent-Length: ", body.size(),
             "\r\nConnection: close\r\n");
  if (refusal.status == 405) text += "Allow: GET, HEAD\r\n";
  for (auto& [name, value] : headers_) text += concat(name, ": ", value, "\r\n");
  text += "\r\n" + body;
  connection.write(text.data(), text.size());
}

}  // namespace flowtrain::http
