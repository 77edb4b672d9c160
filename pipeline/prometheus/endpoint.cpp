#include "pipeline/prometheus/endpoint.h"

#include <fcntl.h>
#include <httplib.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "pipeline/telemetry/log.h"
#include "pipeline/train/train_line.h"
#include "sampling/core/text.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

namespace {

// The library's own options would let a second run listen at the same port, and get half of the requests.
void set_socket_options(int socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

std::string address_text(const ListenAddress& address, int port) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return concat(ipv6 ? "[" + address.host + "]" : address.host, ":", port);
}

}  // namespace

struct PrometheusEndpoint::Server {
  Server(const ListenAddress& address, std::function<std::string()> page) {
    http.set_socket_options(set_socket_options);
    http.new_task_queue = [] { return new httplib::ThreadPool(2); };  // the server deletes it
    http.set_keep_alive_max_count(1);
    http.set_read_timeout(5);
    http.set_write_timeout(5);
    http.set_payload_max_length(0);
    http.set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
      if (request.method == "GET" || request.method == "HEAD") return httplib::Server::HandlerResponse::Unhandled;
      response.status = 405;
      response.set_header("Allow", "GET, HEAD");
      return httplib::Server::HandlerResponse::Handled;
    });
    http.Get("/metrics", [page = std::move(page)](const httplib::Request&, httplib::Response& response) {
      response.set_content(page(), "text/plain; version=0.0.4; charset=utf-8");
    });
    errno = 0;
    if (address.port == 0)
      port = http.bind_to_any_port(address.host);
    else if (http.bind_to_port(address.host, address.port))
      port = address.port;
    if (port <= 0) return;
    thread = named_thread("ft-prometheus", [this] {
      http.listen_after_bind();
      ended = true;
    });
  }
  // It can be stopped only once it listens.
  ~Server() {
    while (thread.joinable() && !ended) {
      http.stop();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  Server(const Server&) = delete;

  httplib::Server http;
  int port = 0;
  std::atomic<bool> ended = false;
  std::jthread thread;
};

PrometheusEndpoint::PrometheusEndpoint(const std::optional<ListenAddress>& address, std::string run)
    : run_(std::move(run)) {
  if (!address) return;
  server_ = std::make_unique<Server>(*address, [this] { return page(); });
  if (server_->port > 0) {
    log_info(concat("Prometheus may read http://", address_text(*address, server_->port), "/metrics"));
    return;
  }
  const std::string reason = errno != 0 ? std::strerror(errno) : "no such host";
  log_warn(concat("display.prometheus: cannot listen at ", address_text(*address, address->port), ": ", reason,
                  "; the run goes on without. Another port there, or port 0 for any that is free, helps if another "
                  "program has this one"));
  server_.reset();
}

PrometheusEndpoint::~PrometheusEndpoint() { finish(); }

int PrometheusEndpoint::port() const { return server_ ? server_->port : 0; }

std::string PrometheusEndpoint::page() const {
  std::shared_ptr<const Line> line;
  std::shared_ptr<const Scalars> validation;
  {
    MutexLock lock(mutex_);
    line = line_;
    validation = validation_;
  }
  RunMetrics metrics{.run = run_, .iterations = iterations_, .validation = {}};
  if (line) metrics.line = train_line(line->event, line->scalars);
  if (validation) metrics.validation.insert(validation->begin(), validation->end());
  return exposition(metrics);
}

void PrometheusEndpoint::step(const StepEvent& event, const Scalars& scalars) {
  if (!server_) return;
  iterations_.store(event.iteration, std::memory_order_relaxed);
  if (!event.report) return;
  auto line = std::make_shared<const Line>(event, scalars);
  MutexLock lock(mutex_);
  line_.swap(line);
}

void PrometheusEndpoint::validation(const ValidationEvent& event) {
  if (!server_) return;
  auto scalars = std::make_shared<const Scalars>(event.scalars);
  MutexLock lock(mutex_);
  validation_.swap(scalars);
}

void PrometheusEndpoint::finish() { server_.reset(); }

}  // namespace flowtrain
