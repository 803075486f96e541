#include "engine/model/router_balance.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/softmax.h>
#include <torch/csrc/autograd/custom_function.h>

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What the graph of a layer keeps of the loss.
struct SharedBalance : torch::CustomClassHolder {
  explicit SharedBalance(std::shared_ptr<RouterBalance> shared) : balance(std::move(shared)) {}
  std::shared_ptr<RouterBalance> balance;
};

double square(int64_t number) {
  return static_cast<double>(number) * static_cast<double>(number);
}

}  // namespace

struct BalancedLogits : torch::autograd::Function<BalancedLogits> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& logits_TE,
                            const c10::intrusive_ptr<SharedBalance>& shared) {
    ctx->save_for_backward({logits_TE});
    ctx->saved_data["balance"] = c10::IValue::make_capsule(shared);
    return logits_TE.view_as(logits_TE);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto shared = c10::static_intrusive_pointer_cast<SharedBalance>(ctx->saved_data["balance"].toCapsule());
    const at::Tensor logits_TE = ctx->get_saved_variables()[0];
    return {grads[0] + shared->balance->gradient_of_logits(logits_TE).to(grads[0].scalar_type()), {}};
  }
};

at::Tensor RouterBalance::attach(const at::Tensor& logits_TE, const std::shared_ptr<RouterBalance>& balance) {
  return BalancedLogits::apply(logits_TE, c10::make_intrusive<SharedBalance>(balance));
}

void RouterBalance::count(const at::Tensor& logits_TE, const at::Tensor& choices_E) {
  const at::NoGradGuard no_grad;
  const at::Tensor choices = choices_E.to(at::kFloat);
  const at::Tensor probabilities = at::softmax(logits_TE, -1, at::kFloat).sum(0);
  choices_E_ = tokens_ == 0 ? choices : choices_E_ + choices;
  probabilities_E_ = tokens_ == 0 ? probabilities : probabilities_E_ + probabilities;
  tokens_ += logits_TE.size(0);
}

at::Tensor RouterBalance::loss() const {
  return (choices_E_ * probabilities_E_).sum() * (static_cast<double>(choices_E_.size(0)) / square(tokens_));
}

at::Tensor RouterBalance::gradient_of_logits(const at::Tensor& logits_TE) const {
  const at::Tensor probabilities_TE = at::softmax(logits_TE, -1, at::kFloat);
  const double scale = gradient_ * static_cast<double>(choices_E_.size(0)) / square(tokens_);
  return at::_softmax_backward_data((choices_E_ * scale).expand_as(probabilities_TE), probabilities_TE, -1, at::kFloat);
}

}  // namespace assay::engine
