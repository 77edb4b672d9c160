#include "pipeline/config/checks.h"

#include <algorithm>
#include <string_view>

#include "pipeline/config/words.h"

namespace flowtrain {
namespace {

void check_name(const Config& config) {
  auto& name = config.name();
  bool control = std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; });
  if (name.empty() || name.front() == '.' || control || name.find('/') != std::string::npos || name.size() > 200)
    throw config.table("").error("name", "cannot be a folder's name: " + to_toml(Value(name)));
}

void check_device(const Settings& run) {
  std::string_view device = run.text("device");
  if (device == "auto" || device == "cpu" || device == "cuda") return;
  constexpr std::string_view cuda = "cuda:";
  auto index = device.substr(std::min(device.size(), cuda.size()));
  bool digits = std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!device.starts_with(cuda) || index.empty() || index.size() > 3 || !digits)
    throw run.error("device", "expected auto, cpu, cuda or cuda:N, got " + to_toml(run.value("device")));
}

void check_optimizer(const Settings& optim) {
  auto& betas = optim.reals("betas");
  if (betas.size() != 2 || std::any_of(betas.begin(), betas.end(), [](double beta) { return beta >= 1; }))
    throw optim.error("betas", "expected two numbers below 1, got " + to_toml(optim.value("betas")));
  if (optim.boolean("nesterov") && optim.real("momentum") == 0)
    throw optim.error("nesterov", "needs optim.momentum > 0");
}

void check_parts(const Settings& snapshot) {
  auto& parts = snapshot.texts("save");
  if (std::find(parts.begin(), parts.end(), "params") == parts.end())
    throw snapshot.error("save", "\"params\" must be among them, got " + to_toml(snapshot.value("save")));
}

}  // namespace

void check_values(const Config& config) {
  check_name(config);
  check_device(config.table("run"));
  check_optimizer(config.table("optim"));
  check_parts(config.table("snapshot"));
  for (auto table : {"val", "snapshot", "display"}) period(config.table(table), "every");
  period(config.table("lr"), "stepsize");
  for (bool training : {true, false}) share(config.data(training), "max_bad");
}

}  // namespace flowtrain
