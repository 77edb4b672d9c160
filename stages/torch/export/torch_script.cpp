#include "stages/torch/export/torch_script.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/fuse_linear.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cmath>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "nets/layers/module_net.h"
#include "nets/package/compiled_net.h"
#include "sampling/core/settings.h"
#include "stages/torch/batch.h"
#include "stages/torch/state_copy.h"
#include "stages/torch/step/learner_net.h"

namespace flowtrain {

namespace {

namespace jit = torch::jit;

/// A module with the tensors of a net, with sub-modules by their names: "layer1.0.conv1.weight".
class ModuleTree {
 public:
  explicit ModuleTree(const nets::Net& net) {
    at_path("");
    for (const auto& [name, tensor] : net.parameters()) add(name, tensor, false);
    for (const auto& [name, tensor] : net.buffers()) add(name, tensor, true);
  }

  jit::Module& root() { return modules_.at(""); }
  jit::CompilationUnit& unit() { return *unit_; }

 private:
  jit::Module& at_path(const std::string& path) {
    if (const auto found = modules_.find(path); found != modules_.end()) return found->second;
    const jit::Module made(c10::QualifiedName("__torch__.Net"), unit_, /*shouldMangle=*/true);
    jit::Module& module = modules_.emplace(path, made).first->second;
    module.register_attribute("training", c10::BoolType::get(), false);
    if (path.empty()) return module;
    const auto dot = path.rfind('.');
    at_path(dot == path.npos ? "" : path.substr(0, dot)).register_module(path.substr(dot + 1), module);
    return module;
  }

  void add(const std::string& name, const at::Tensor& tensor, bool is_buffer) {
    const auto dot = name.rfind('.');
    at_path(dot == name.npos ? "" : name.substr(0, dot)).register_parameter(name.substr(dot + 1), tensor, is_buffer);
  }

  std::shared_ptr<jit::CompilationUnit> unit_ = std::make_shared<jit::CompilationUnit>();
  std::map<std::string, jit::Module> modules_;
};

/// Writes a number that stands for both sides of a window twice: ONNX's exporter cannot read it otherwise.
void expand_windows(jit::Graph& graph) {
  for (jit::Node* const node : graph.nodes()) {
    if (node->kind() != c10::aten::max_pool2d && node->kind() != c10::aten::avg_pool2d) continue;
    for (jit::Value* const input : node->inputs()) {
      jit::Node* const list = input->node();
      if (list->kind() == c10::prim::ListConstruct && list->inputs().size() == 1) list->addInput(list->input(0));
    }
  }
}

c10::IValue as_value(const nets::NamedTensors& outputs) {
  if (outputs.size() == 1) return (*outputs.begin()).second;
  std::vector<c10::IValue> all;
  for (const auto& [name, tensor] : outputs) all.emplace_back(tensor);
  return c10::ivalue::Tuple::create(std::move(all));
}

nets::NamedTensors forward(nets::Net& net, const at::Tensor& image) { return net.forward({{"image", image}}); }

at::Tensor output_of(const c10::IValue& value, std::size_t place) {
  return value.isTensor() ? value.toTensor() : value.toTupleRef().elements()[place].toTensor();
}

PlainTensor plain(const std::string& name, const at::Tensor& tensor) {
  const at::Tensor rows = tensor.to(at::kFloat).contiguous();
  return {name, rows.sizes().vec(), {static_cast<const char*>(rows.const_data_ptr()), rows.nbytes()}};
}

/// Raises `greatest` to the difference of one pass; NaN if an output has NaN.
void compare(nets::Net& net, jit::Module& module, const at::Tensor& image, double& greatest) {
  const c10::IValue traced = module.forward({image});
  std::size_t place = 0;
  for (const auto& [name, expected] : forward(net, image)) {
    const at::Tensor got = output_of(traced, place++);
    if (got.sizes() != expected.sizes())
      throw InternalError(c10::str("the trace gives ", name, " of shape ", got.sizes(), ", not ", expected.sizes()));
    if (at::equal(got, expected)) continue;
    const auto difference = (got - expected).abs().max().item<double>();
    if (difference > greatest || std::isnan(difference)) greatest = difference;
  }
}

}  // namespace

TorchScript trace_net(const LearnerSpec& spec, const std::vector<StateTensor>& model, Slab& slab,
                      const std::string& facts) {
  const auto net = make_learner_net(spec);
  if (!dynamic_cast<nets::ModuleNet*>(net.get()))
    throw spec.tables.net.error(nets::key_of_net(spec.tables.net), "the net is a file already, and is not traced again",
                                ExitCode::usage,
                                "use that file (net.script, net.package), with the weights of --format safetensors");
  Weights(*net, at::kCPU, false).load(model);
  net->train(false);
  BatchAdapter adapter(spec.data.train_layout, at::kCPU, spec.tables.net.boolean("channels_last"));
  const auto rows = static_cast<std::int64_t>(slab.row_count());
  const nets::NamedTensors batch = adapter(slab);
  if (!batch.contains("image"))
    throw spec.tables.net.error(nets::key_of_net(spec.tables.net),
                                "the net reads no field `image`, and only nets of pictures are traced", ExitCode::usage,
                                "write its weights: --format safetensors, with a FILE.safetensors");
  const at::Tensor image = batch.at("image").narrow(0, 0, rows).clone();

  const at::NoGradGuard no_gradients;
  ModuleTree tree(*net);
  jit::Module& root = tree.root();
  const auto traced = jit::tracer::trace(
      {image}, [&](jit::Stack inputs) -> jit::Stack { return {as_value(forward(*net, inputs.front().toTensor()))}; },
      [](const at::Tensor&) { return std::string(); }, /*strict=*/false, /*force_outplace=*/false, &root, {"image"});
  // The executor would otherwise split addmm(), which nn::Linear calls, into a product and a sum, which round
  // differently.
  jit::FuseLinear(traced.first->graph);
  expand_windows(*traced.first->graph);
  auto* const function =
      tree.unit().create_function(c10::QualifiedName(*root.type()->name(), "forward"), traced.first->graph);
  root.type()->addMethod(function);

  TorchScript script;
  script.image = plain("image", image);
  std::string names;
  for (const auto& [name, tensor] : forward(*net, image)) {
    if (!at::isfinite(tensor).all().item<bool>())
      throw UserError(ExitCode::data, c10::str("the net gives ", name, " that are not finite for the validation data"),
                      "export another snapshot: --iter N");
    script.outputs.push_back(plain(name, tensor));
    names += name + '\n';
  }
  std::ostringstream file;
  root.save(file, {{"flowtrain.json", facts}, {"outputs.txt", names}});
  script.bytes = std::move(file).str();
  std::istringstream stored(script.bytes);
  jit::Module loaded = jit::load(stored);
  compare(*net, loaded, image, script.greatest_difference);
  compare(*net, loaded, image.narrow(0, 0, 1), script.greatest_difference);
  return script;
}

}  // namespace flowtrain
