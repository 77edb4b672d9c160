// flowtrain_parity: single steps of the CornerNet family, for comparison with another implementation.

#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>

#include "tests/parity/ops.h"
#include "tests/parity/tensor_files.h"

namespace {

using namespace flowtrain;
using namespace flowtrain::parity;

struct Flags {
  std::string net, mode, fill, weights, op, sampler, draws, in, out, device = "cpu";
  std::vector<std::string> set;
};

std::ifstream open_in(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw BadCall(path + ": cannot be read");
  return file;
}

// A value is JSON where it is a number, a truth value or a list, and otherwise text.
Arguments arguments_of(const std::vector<std::string>& set) {
  json values = json::object();
  for (auto& each : set) {
    const auto at = each.find('=');
    if (at == std::string::npos || at == 0) throw BadCall("--set " + each + ": expected KEY=VALUE");
    const std::string text = each.substr(at + 1);
    const json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
    const bool is_value = parsed.is_number() || parsed.is_boolean() || parsed.is_array();
    values[each.substr(0, at)] = is_value ? parsed : json(text);
  }
  return Arguments(values);
}

Op find_op(const std::string& name) {
  for (auto* part : {net_ops, loss_ops, detection_ops, sampler_ops}) {
    const Ops ops = part();
    if (const auto found = ops.find(name); found != ops.end()) return found->second;
  }
  throw BadCall("--op " + name + ": no such operation");
}

void run(const CLI::App& app, const Flags& flags) {
  const auto is = [&](const char* name) { return app.got_subcommand(name); };
  if (is("names")) return print_names(flags.net, std::cout);
  if (is("radius")) {
    auto in = open_in(flags.in);
    std::ofstream out(flags.out);
    run_radius(in, out);
    if (!out.flush()) throw BadCall(flags.out + ": cannot be written");
    return;
  }
  if (is("sample")) {
    auto file = open_in(flags.draws);
    return write_tensors(flags.out, run_sample(flags.sampler, json::parse(file), read_tensors(flags.in)));
  }
  const Arguments set = arguments_of(flags.set);
  const at::Device device = device_named(flags.device);
  const auto in = on_device(read_tensors(flags.in), device);
  const Call call{in, set, device};
  const auto out = is("op") ? find_op(flags.op)(call) : run_net({flags.net, flags.mode, flags.weights}, call);
  set.check_all_read();
  write_tensors(flags.out, out);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Single steps of the CornerNet family, for comparison with another implementation.", "flowtrain_parity");
  app.require_subcommand(1);
  Flags flags;
  const auto add_files = [&](CLI::App* command) {
    command->add_option("--in", flags.in, "tensors that go in (safetensors)")->required();
    command->add_option("--out", flags.out, "tensors that come out")->required();
    return command;
  };
  const auto add_run_flags = [&](CLI::App* command) {
    command->add_option("--set", flags.set, "KEY=VALUE; repeatable")->allow_extra_args(false);
    command->add_option("--device", flags.device, "cpu or cuda");
    return add_files(command);
  };
  const std::string nets = "CornerNet, CornerNet_Squeeze or CornerNet_Saccade";
  app.add_subcommand("names", "the entries of a net's state_dict")->add_option("--net", flags.net, nets)->required();
  add_files(app.add_subcommand("radius", "Gaussian radii: CSV to CSV"));
  add_run_flags(app.add_subcommand("op", "one operation"))->add_option("--op", flags.op, "its name")->required();
  auto* sample = add_files(app.add_subcommand("sample", "one training sample with given draws"));
  sample->add_option("--sampler", flags.sampler, "cornernet or cornernet_saccade")->required();
  sample->add_option("--draws", flags.draws, "{\"config\": …, \"draws\": …}")->required();
  auto* net = add_run_flags(app.add_subcommand("net", "a whole net"));
  net->add_option("--net", flags.net, nets)->required();
  net->add_option("--mode", flags.mode, "eval or train")->required()->check(CLI::IsMember({"eval", "train"}));
  auto* fill =
      net->add_option("--fill", flags.fill, "name-hash: values made from names")->check(CLI::IsMember({"name-hash"}));
  net->add_option("--weights", flags.weights, "a state dict in safetensors")->excludes(fill);
  try {
    app.parse(argc, argv);
    if (app.got_subcommand("net") && flags.fill.empty() == flags.weights.empty())
      throw BadCall("net: give --fill name-hash or --weights FILE");
    run(app, flags);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    std::fprintf(stderr, "error: %s\n", text.substr(0, text.find('\n')).c_str());
    return 2;
  }
}
