#include "pipeline/engine/prometheus/endpoint.h"

#include <thread>
#include <utility>

#include "pipeline/base/http/host.h"
#include "pipeline/base/http/listener.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/train/logger_entry.h"
#include "pipeline/engine/train/train_line.h"
#include "sampling/core/text.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

class PrometheusEndpoint::Server : public http::Listener {
 public:
  Server(const ListenAddress& address, std::function<std::string()> page)
      : Listener({.host = address.host, .port = address.port, .threads = 1}), page_(std::move(page)) {}
  ~Server() override { end(); }  // the thread is then joined

  void start() {
    thread_ = named_thread("ft-prometheus", [this] { serve(); });
  }

 private:
  // Returns a refusal on loopback for hosts of other names: pages of other sites may make theirs lead here, while only
  // this machine's programs are meant. Other addresses may have names that this machine does not know.
  std::optional<http::Refusal> refused(const http::RequestHead& head) const override {
    const auto host = head.headers.find("host");
    if (!http::is_loopback(options().host) || host == head.headers.end() ||
        http::is_own_host(host->second, options().host))
      return {};
    return http::Refusal{421, "this is not the host that was asked for"};
  }

  http::Response answer(const http::RequestHead& head) override {
    http::Response response;
    if (head.target.substr(0, head.target.find('?')) != "/metrics") return response;
    response.status = 200;
    response.set_content(page_(), "text/plain; version=0.0.4; charset=utf-8");
    return response;
  }

  const std::function<std::string()> page_;
  std::jthread thread_;
};

PrometheusEndpoint::PrometheusEndpoint(const std::optional<ListenAddress>& address, std::string run)
    : run_(std::move(run)) {
  if (!address) return;
  server_ = std::make_unique<Server>(*address, [this] { return page(); });
  if (const auto reason = server_->listen(); !reason.empty()) {
    log_warn(
        concat("display.prometheus: cannot listen at ", http::host_and_port(address->host, address->port), ": ", reason,
               "; the run goes on without it. If another program uses the port, choose another one, or port 0 for any "
               "free one"));
    server_.reset();
    return;
  }
  server_->start();
  log_info(concat("Prometheus may read http://", http::host_and_port(address->host, server_->port()), "/metrics"));
}

PrometheusEndpoint::~PrometheusEndpoint() { finish(); }

int PrometheusEndpoint::port() const { return server_ ? server_->port() : 0; }

std::string PrometheusEndpoint::page() const {
  std::shared_ptr<const Line> line;
  std::shared_ptr<const Scalars> validation;
  {
    MutexLock lock(mutex_);
    line = line_;
    validation = validation_;
  }
  ExposedMetrics metrics{.run = run_, .iterations = iterations_, .validation = {}};
  if (line) metrics.line = train_line(line->event, line->scalars);
  if (validation) metrics.validation.insert(validation->begin(), validation->end());
  return exposition(metrics);
}

void PrometheusEndpoint::step(const StepEvent& event, const Scalars& scalars) {
  if (!server_) return;
  iterations_.store(event.iteration, std::memory_order_relaxed);
  if (!event.report) return;
  auto line = std::make_shared<const Line>(Line{event, scalars});
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

LoggerEntry prometheus_logger() {
  return {"prometheus", "an HTTP endpoint", 1, [](const LoggerInput& input) -> std::unique_ptr<Logger> {
            const auto address = listen_address(input.config.table("display"), "prometheus");
            if (!address) return nullptr;
            return std::make_unique<PrometheusEndpoint>(input.metrics ? address : std::nullopt,
                                                        input.folder().filename().string());
          }};
}

}  // namespace flowtrain
