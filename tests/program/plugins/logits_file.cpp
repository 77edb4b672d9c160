// A metric for tests: writes the logits of a validation to a file, row by row, as f32 in the machine's byte order.

#include <ATen/ATen.h>

#include <fstream>

#include "nets/metrics/metric.h"
#include "pipeline/plugin.h"

namespace {

using namespace flowtrain;

class LogitsFile final : public nets::Metric {
 public:
  explicit LogitsFile(const std::string& path) : file_(path, std::ios::binary) {}

  void update(const nets::NamedTensors& outputs, const nets::NamedTensors&) override {
    const at::Tensor logits = outputs.at("logits").cpu().contiguous();
    file_.write(static_cast<const char*>(logits.data_ptr()), static_cast<std::streamsize>(logits.nbytes()));
    file_.flush();
    rows_ += static_cast<double>(logits.size(0));
  }
  std::vector<double> totals() const override { return {rows_}; }
  std::vector<double> scalars(const std::vector<double>& totals) const override { return {totals[0]}; }
  void reset() override { rows_ = 0; }

 private:
  std::ofstream file_;
  double rows_ = 0;
};

void add() {
  nets::metrics().add({"logits_file",
                       "writes logits to a file",
                       {{"path", Kind::text, std::string("logits.f32"), "the file"}},
                       [](const Settings& settings, const nets::MetricInput&) {
                         return std::make_unique<LogitsFile>(settings.text("path"));
                       }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
