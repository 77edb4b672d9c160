#pragma once
// The HTTP endpoint at which Prometheus reads a run's metrics, for display.prometheus.

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "pipeline/base/config/listen_address.h"
#include "pipeline/engine/prometheus/exposition.h"
#include "pipeline/engine/train/logger.h"
#include "sampling/core/mutex.h"

namespace flowtrain {

/// Answers GET /metrics until the run ends, and refuses all else (404, 405). If it cannot listen, it warns once.
class PrometheusEndpoint : public Logger {
 public:
  /// `address`: empty to listen nowhere. `run` is the label.
  PrometheusEndpoint(const std::optional<ListenAddress>& address, std::string run);
  ~PrometheusEndpoint() override;
  PrometheusEndpoint(const PrometheusEndpoint&) = delete;

  void step(const StepEvent& event, const Scalars& scalars) override;
  void validation(const ValidationEvent& event) override;
  void finish() override;
  /// Returns the port; 0 if it does not listen.
  int port() const;

 private:
  class Server;
  std::string page() const;

  const std::string run_;
  std::atomic<std::uint64_t> iterations_ = 0;
  struct Line {
    StepEvent event;
    Scalars scalars;
  };
  mutable Mutex mutex_;  // held only while pointers are copied
  std::shared_ptr<const Line> line_ FT_GUARDED_BY(mutex_);
  std::shared_ptr<const Scalars> validation_ FT_GUARDED_BY(mutex_);
  std::unique_ptr<Server> server_;  // declared last: its threads use all of the above
};

}  // namespace flowtrain
