// Nets from TorchScript files, as torch.jit.save writes them.

#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <torch/script.h>

#include <algorithm>
#include <stdexcept>

#include "nets/layers/module.h"
#include "nets/names.h"
#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace {

std::string text_of(const std::exception& error) {
  const auto* const torch_error = dynamic_cast<const c10::Error*>(&error);
  return torch_error ? torch_error->what_without_backtrace() : error.what();
}

std::string first_line(const std::exception& error) {
  const std::string text = text_of(error);
  return text.substr(0, text.find('\n'));
}

// The interpreter's message lists the lines that led to the failure, and ends with the failure itself.
std::string last_line(const std::exception& error) {
  std::string text = text_of(error);
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

template <class List>
NamedTensors named(const List& list) {
  NamedTensors tensors;
  for (const auto& item : list) tensors.set(item.name, item.value);
  return tensors;
}

/// Names the results: a tensor is `logits`, a tuple's members are `0`, `1` …, a dict keeps its names.
NamedTensors output_tensors(const torch::jit::IValue& result) {
  NamedTensors tensors;
  if (result.isTensor()) {
    tensors.set("logits", result.toTensor());
  } else if (result.isTuple()) {
    for (const auto& member : result.toTupleRef().elements()) {
      tensors.set(std::to_string(tensors.size()), member.toTensor());
    }
  } else if (result.isGenericDict()) {
    for (const auto& item : result.toGenericDict()) tensors.set(item.key().toStringRef(), item.value().toTensor());
  } else {
    throw std::invalid_argument("forward gave a " + result.tagKind() +
                                ", expected a tensor, a tuple of tensors, or a dict of tensors by name");
  }
  return tensors;
}

class ScriptNet final : public Net {
 public:
  ScriptNet(std::string path, const std::vector<std::string>& inputs, torch::jit::Module module)
      : path_(std::move(path)), module_(std::move(module)) {
    const auto forward = module_.find_method("forward");
    if (!forward) throw std::invalid_argument("script " + path_ + ": the module has no method named forward");
    const auto& arguments = forward->function().getSchema().arguments();
    arguments_.assign(arguments.begin() + 1, arguments.end());  // leaves out self
    fields_.resize(arguments_.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) name_field(i, inputs[i]);
  }

  NamedTensors forward(const NamedTensors& batch) override {
    const std::vector<torch::jit::IValue> values = bind(batch);
    torch::jit::IValue result;
    try {
      result = module_.forward(values);
    } catch (const std::exception& error) {
      throw std::invalid_argument("script " + path_ + ": forward failed: " + last_line(error));
    }
    try {
      return output_tensors(result);
    } catch (const std::exception& error) {
      throw std::invalid_argument("script " + path_ + ": " + first_line(error));
    }
  }
  bool may_give(const std::string&) const override { return true; }
  NamedTensors parameters() const override { return named(module_.named_parameters()); }
  NamedTensors buffers() const override { return named(module_.named_buffers()); }
  void train(bool on) override {
    module_.train(on);
    for (auto& module : frozen_) module.train(false);
  }
  void freeze(const std::set<std::string>& parameters) override {
    for (const auto& item : module_.named_modules()) {
      std::size_t own = 0, frozen = 0;
      for (const auto& parameter : item.value.named_parameters(/*recurse=*/false)) {
        ++own;
        if (!parameters.contains(item.name.empty() ? parameter.name : item.name + "." + parameter.name)) continue;
        parameter.value.set_requires_grad(false);
        ++frozen;
      }
      if (frozen > 0 && frozen == own) frozen_.push_back(item.value);
    }
  }
  void span_batch_norm(const SumOverProcesses&) override {
    throw std::invalid_argument("the batch normalisation of a TorchScript module cannot span processes");
  }
  void to(at::Device device, bool channels_last) override {
    module_.to(device);
    lay_out(parameters(), channels_last);
    lay_out(buffers(), channels_last);
  }

 private:
  std::string listed_arguments() const {
    std::vector<std::string> names;
    for (const c10::Argument& argument : arguments_) names.push_back(argument.name());
    return join(names);
  }

  /// Takes "FIELD" for the argument at `place`, or "ARGUMENT = FIELD".
  void name_field(std::size_t place, const std::string& input) {
    if (const auto sign = input.find('='); sign != std::string::npos) {
      const std::string name(trimmed(std::string_view(input).substr(0, sign), " \t"));
      const auto is_meant = [&](const c10::Argument& argument) { return argument.name() == name; };
      place =
          static_cast<std::size_t>(std::find_if(arguments_.begin(), arguments_.end(), is_meant) - arguments_.begin());
      if (place == arguments_.size())
        throw std::invalid_argument("script " + path_ + ": inputs names the argument '" + name +
                                    "', but forward has only: " + listed_arguments());
      fields_[place] = trimmed(std::string_view(input).substr(sign + 1), " \t");
    } else if (place < arguments_.size()) {
      fields_[place] = input;
    } else {
      throw std::invalid_argument("script " + path_ + ": inputs names " + std::to_string(place + 1) +
                                  " fields, but forward has only: " + listed_arguments());
    }
  }

  std::vector<torch::jit::IValue> bind(const NamedTensors& batch) const {
    std::vector<torch::jit::IValue> values;
    for (const c10::Argument& argument : arguments_) {
      const std::string& field = fields_[values.size()];
      if (!field.empty()) {
        if (!batch.contains(field))
          throw std::invalid_argument("script " + path_ + ": the batch has no '" + field +
                                      "', which inputs names for '" + argument.name() + "'");
        values.emplace_back(batch.at(field));
      } else if (batch.contains(argument.name())) {
        values.emplace_back(batch.at(argument.name()));
      } else if (values.empty()) {
        values.emplace_back(batch.at("image"));
      } else if (argument.default_value()) {
        values.push_back(*argument.default_value());
      } else {
        throw std::invalid_argument("script " + path_ + ": the batch has no '" + argument.name() +
                                    "', which forward needs");
      }
    }
    return values;
  }

  std::string path_;
  torch::jit::Module module_;
  std::vector<torch::jit::Module> frozen_;
  std::vector<c10::Argument> arguments_;
  std::vector<std::string> fields_;  // fields that inputs names for them; empty: none
};

torch::jit::Module load(const std::string& path) {
  try {
    // The CPU is first, because the file may come from a machine with other devices.
    return torch::jit::load(path, at::Device(at::kCPU));
  } catch (const std::exception& error) {
    throw std::invalid_argument("script " + path + " cannot be read: " + first_line(error));
  }
}

std::unique_ptr<Net> make_script_net(const Settings& settings, const NetInput&) {
  const std::string& path = settings.text("script");
  return std::make_unique<ScriptNet>(path, settings.texts("inputs"), load(path));
}

}  // namespace
#endif

// An argument takes the batch's tensor that `inputs` names, else the one of its own name; the first argument takes
// `image`. The result is `logits` if it is a tensor, `0`, `1` … if a tuple, and keeps its names if a dict.
FLOWTRAIN_PARTS(script) {
  parts.nets.add(
      {"script",
       "net from a TorchScript file",
       {{.name = "script",
         .kind = Kind::text,
         .fallback = std::string(),
         .help = "path of the file that torch.jit.save wrote",
         .required = true,
         .is_path = true},
        {"inputs", Kind::texts, std::vector<std::string>{},
         "fields of the batch for its arguments, in their order, or \"ARGUMENT = FIELD\"; an argument not named "
         "here takes the field of its own name, the first one the image"}},
       FLOWTRAIN_MAKE(make_script_net),
       {.least_side = 0}});
}

}  // namespace flowtrain::nets
