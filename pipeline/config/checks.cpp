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

void check_range(const Settings& settings, const std::string& key) {
  const auto& range = settings.reals(key);
  if (range.size() != 2 || range[0] > range[1])
    throw settings.error(key, "must be [least, most], got " + to_toml(settings.value(key)));
}

void check_mixing(const Settings& mix, const Settings& loss) {
  auto& name = loss.text("name");
  const auto alpha = mix.real("mixup") > 0 ? "mixup" : "cutmix";
  if (mix.real(alpha) <= 0 || !name.starts_with("cornernet")) return;
  throw mix.error(alpha, "mixes class labels, and loss.name = " + to_toml(loss.value("name")) + " (" +
                             loss.origin("name").text() + ") knows none",
                  Exit::usage, "keep one of the two; mix.erase needs no labels");
}

}  // namespace

void check_values(const Config& config) {
  check_name(config);
  check_device(config.table("run"));
  check_optimizer(config.table("optim"));
  check_parts(config.table("snapshot"));
  for (auto key : {"scale", "ratio"}) check_range(config.table("mix.erase"), key);
  check_mixing(config.table("mix"), config.table("loss"));
  for (auto table : {"val", "snapshot", "display"}) period(config.table(table), "every");
  period(config.table("lr"), "stepsize");
  for (bool training : {true, false}) share(config.data(training), "max_bad");
}

}  // namespace flowtrain
