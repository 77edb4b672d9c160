#include "nets/entries.h"

#if FLOWTRAIN_COMPUTES
#include <torch/nn/init.h>

#include <algorithm>
#include <stdexcept>

#include "nets/layers/batch_norm.h"
#include "nets/layers/module.h"
#include "nets/models/gan.h"
#endif

namespace flowtrain::nets {

#if FLOWTRAIN_COMPUTES
namespace nn = torch::nn;

namespace {

constexpr std::int64_t width = 32;  // width of the discriminator's first layer; each further layer is twice as wide
constexpr double slope = 0.2;       // slope of leaky ReLU, as in the paper

struct GeneratorImpl : nn::Module {
  GeneratorImpl(std::int64_t channels, std::int64_t height, std::int64_t breadth)
      : rows(height / 8), columns(breadth / 8) {
    seed = register_module("seed", nn::Linear(Gan::latent, 4 * width * rows * columns));
    norm0 = register_module("norm0", BatchNorm2d(4 * width));
    up1 = register_module("up1", up(4 * width, 2 * width));
    norm1 = register_module("norm1", BatchNorm2d(2 * width));
    up2 = register_module("up2", up(2 * width, width));
    norm2 = register_module("norm2", BatchNorm2d(width));
    up3 = register_module("up3", up(width, channels));
  }

  static nn::ConvTranspose2d up(std::int64_t from, std::int64_t to) {
    return nn::ConvTranspose2d(nn::ConvTranspose2dOptions(from, to, 4).stride(2).padding(1));
  }

  at::Tensor forward(const at::Tensor& noise) {
    at::Tensor x = norm0(seed(noise).view({-1, 4 * width, rows, columns})).relu();
    x = norm1(up1(x)).relu();
    x = norm2(up2(x)).relu();
    return up3(x).tanh();
  }

  std::int64_t rows, columns;
  nn::Linear seed{nullptr};
  BatchNorm2d norm0{nullptr}, norm1{nullptr}, norm2{nullptr};
  nn::ConvTranspose2d up1{nullptr}, up2{nullptr}, up3{nullptr};
};
TORCH_MODULE(Generator);

struct DiscriminatorImpl : nn::Module {
  DiscriminatorImpl(std::int64_t channels, std::int64_t height, std::int64_t breadth) {
    down1 = register_module("down1", down(channels, width));
    down2 = register_module("down2", down(width, 2 * width));
    norm2 = register_module("norm2", BatchNorm2d(2 * width));
    down3 = register_module("down3", down(2 * width, 4 * width));
    norm3 = register_module("norm3", BatchNorm2d(4 * width));
    verdict = register_module("verdict", nn::Linear(4 * width * (height / 8) * (breadth / 8), 1));
  }

  static nn::Conv2d down(std::int64_t from, std::int64_t to) {
    return nn::Conv2d(nn::Conv2dOptions(from, to, 4).stride(2).padding(1));
  }

  at::Tensor forward(const at::Tensor& image) {
    at::Tensor x = at::leaky_relu(down1(image), slope);
    x = at::leaky_relu(norm2(down2(x)), slope);
    x = at::leaky_relu(norm3(down3(x)), slope);
    return verdict(x.flatten(1)).flatten();
  }

  nn::Conv2d down1{nullptr}, down2{nullptr}, down3{nullptr};
  BatchNorm2d norm2{nullptr}, norm3{nullptr};
  nn::Linear verdict{nullptr};
};
TORCH_MODULE(Discriminator);

at::Tensor cross_entropy(const at::Tensor& logits, double truth) {
  return at::binary_cross_entropy_with_logits(logits, at::full_like(logits, truth), {}, {}, at::Reduction::Mean);
}

bool has(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

struct Gan::Modules : nn::Module {
  explicit Modules(const NetInput& input) {
    if (input.height % 8 != 0 || input.width % 8 != 0)
      throw std::invalid_argument("net gan: pictures are " + std::to_string(input.height) + " x " +
                                  std::to_string(input.width) + " pixels, expected sides that 8 divides");
    generator = register_module("generator", Generator(input.channels, input.height, input.width));
    discriminator = register_module("discriminator", Discriminator(input.channels, input.height, input.width));
    // The paper's initialisation is normal with a deviation of 0.02, around 1 for the factors of batch normalisation.
    const torch::NoGradGuard no_gradients;
    for (auto& item : named_parameters()) {
      const bool factor = item.key().find("norm") != std::string::npos;
      if (item.key().ends_with("bias"))
        item.value().zero_();
      else
        nn::init::normal_(item.value(), factor ? 1 : 0, 0.02);
    }
  }

  Generator generator{nullptr};
  Discriminator discriminator{nullptr};
};

Gan::Gan(const NetInput& input) : Gan(std::make_shared<Modules>(input)) {}
Gan::Gan(std::shared_ptr<Modules> modules) : ModuleNet(modules), modules_(std::move(modules)) {}

at::Tensor Gan::generate(const at::Tensor& noise) { return modules_->generator(noise).to(at::kFloat); }
at::Tensor Gan::score(const at::Tensor& image) { return modules_->discriminator(image).to(at::kFloat); }
NamedTensors Gan::forward(const NamedTensors& batch) { return {{"logits", score(batch.at("image")).unsqueeze(1)}}; }

at::Tensor GanStep::noise(const NamedTensors& batch) const {
  const at::Tensor& image = batch.at("image");
  return at::randn({image.size(0), Gan::latent}, image.options().dtype(at::kFloat));
}

std::vector<std::string> GanStep::scalars(const std::vector<std::string>& wanted) const {
  return has(wanted, "discriminator") ? std::vector<std::string>{"real", "fake"} : std::vector<std::string>{};
}

NamedTensors GanStep::operator()(const NamedTensors& batch, const std::vector<std::string>& wanted) {
  NamedTensors losses;
  if (has(wanted, "discriminator")) {
    at::Tensor generated;
    {
      const at::NoGradGuard no_gradients;
      generated = gan_.generate(noise(batch));
    }
    const at::Tensor real = gan_.score(batch.at("image")), fake = gan_.score(generated);
    losses.add("discriminator", cross_entropy(real, 1) + cross_entropy(fake, 0));
    losses.add("real", real.detach().sigmoid().mean());
    losses.add("fake", fake.detach().sigmoid().mean());
  }
  if (has(wanted, "generator")) losses.add("generator", cross_entropy(gan_.score(gan_.generate(noise(batch))), 1));
  return losses;
}

Step::Evaluated GanStep::evaluate(const NamedTensors& batch) {
  const at::Tensor generated = gan_.generate(noise(batch));
  const at::Tensor real = gan_.score(batch.at("image"));
  const at::Tensor loss = cross_entropy(real, 1) + cross_entropy(gan_.score(generated), 0);
  return {{{"image", generated}, {"logits", real.unsqueeze(1)}}, loss};
}

namespace {

std::unique_ptr<Step> make_gan_step(const Settings&, const StepInput& input) {
  if (auto* gan = dynamic_cast<Gan*>(&input.net)) return std::make_unique<GanStep>(*gan);
  throw std::invalid_argument("gan: this step needs net.name = \"gan\", a generator and a discriminator");
}

}  // namespace
#endif

FLOWTRAIN_PARTS(gan) {
  parts.nets.add({"gan",
                  "small generator and discriminator of DCGAN, for step.name = \"gan\"; sides must be multiples of 8",
                  {},
                  FLOWTRAIN_MAKE([](const Settings&, const NetInput& input) { return std::make_unique<Gan>(input); }),
                  {.least_side = 8}});
  parts.steps.add(
      {"gan", "losses \"discriminator\" and \"generator\" of net.name = \"gan\"", {}, FLOWTRAIN_MAKE(make_gan_step)});
}

}  // namespace flowtrain::nets
