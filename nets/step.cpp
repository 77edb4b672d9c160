#include "nets/step.h"

#include <stdexcept>

#include "nets/models/gan.h"
#include "nets/names.h"

namespace flowtrain::nets {

std::unique_ptr<Step> make_step(const std::string& name, Net& net) {
  if (name != "gan") throw unknown_name("step", name, step_names());
  if (auto* gan = dynamic_cast<Gan*>(&net)) return std::make_unique<GanStep>(*gan);
  throw std::invalid_argument("gan: needs the net gan, a generator and a discriminator");
}

std::vector<std::string> step_names() { return {"gan"}; }

}  // namespace flowtrain::nets
