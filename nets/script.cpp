// Nets that come as TorchScript files, as torch.jit.save writes them.

#include <torch/script.h>

#include <stdexcept>

#include "nets/module.h"

namespace flowtrain::nets {
namespace {

std::string first_line(const std::exception& error) {
  const auto* const torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

// The interpreter tells the way to the failure, line by line, and at the end what it was.
std::string last_line(const std::exception& error) {
  std::string text = error.what();
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

template <class List>
NamedTensors named(const List& list) {
  NamedTensors tensors;
  for (const auto& item : list) tensors.set(item.name, item.value);
  return tensors;
}

/// A result as named outputs: a tensor is `logits`, a tuple's members are `0`, `1` …, a dict keeps its names.
NamedTensors outputs(const torch::jit::IValue& result) {
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
  ScriptNet(std::string path, torch::jit::Module module) : path_(std::move(path)), module_(std::move(module)) {
    const auto forward = module_.find_method("forward");
    if (!forward) throw std::invalid_argument("script " + path_ + ": it has no method named forward");
    const auto& arguments = forward->function().getSchema().arguments();
    arguments_.assign(arguments.begin() + 1, arguments.end());  // without self
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
      return outputs(result);
    } catch (const std::exception& error) {
      throw std::invalid_argument("script " + path_ + ": " + first_line(error));
    }
  }
  NamedTensors parameters() const override { return named(module_.named_parameters()); }
  NamedTensors buffers() const override { return named(module_.named_buffers()); }
  void train(bool on) override { module_.train(on); }
  void span_batch_norm(const SumOverProcesses&) override {
    throw std::invalid_argument("the batch normalisation of a TorchScript module cannot span processes");
  }
  void to(at::Device device, bool channels_last) override {
    module_.to(device);
    lay_out(parameters(), channels_last);
    lay_out(buffers(), channels_last);
  }

 private:
  /// Arguments take the batch's tensor of their name; the first one takes `image` whatever it is called.
  std::vector<torch::jit::IValue> bind(const NamedTensors& batch) const {
    std::vector<torch::jit::IValue> values;
    for (const c10::Argument& argument : arguments_) {
      if (batch.contains(argument.name())) {
        values.emplace_back(batch.at(argument.name()));
      } else if (values.empty()) {
        values.emplace_back(batch.at("image"));
      } else if (argument.default_value()) {
        values.push_back(*argument.default_value());
      } else {
        throw std::invalid_argument("script " + path_ + ": the batch has no '" + argument.name() +
                                    "', which forward wants");
      }
    }
    return values;
  }

  std::string path_;
  torch::jit::Module module_;
  std::vector<c10::Argument> arguments_;
};

torch::jit::Module load(const std::string& path) {
  try {
    // On the CPU first: the file may come from a machine with other devices.
    return torch::jit::load(path, at::Device(at::kCPU));
  } catch (const std::exception& error) {
    throw std::invalid_argument("script " + path + " cannot be read: " + first_line(error));
  }
}

}  // namespace

std::unique_ptr<Net> make_script_net(const std::string& path) { return std::make_unique<ScriptNet>(path, load(path)); }

}  // namespace flowtrain::nets
