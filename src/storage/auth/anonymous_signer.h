// The Signer of those who want to be nobody.
#pragma once

#include <string>

#include "storage/auth/signer.h"

namespace assay::storage {

class AnonymousSigner : public Signer {
 public:
  Status Prepare() override { return Status::Ok(); }
  Need need() const override { return Need::kNothing; }
  Status Sign(http::Request&, std::string_view) override { return Status::Ok(); }
  Result<std::string> Presign(const http::Request&, int64_t) override {
    return Status::Unsupported("cannot presign a URL without credentials (leave --anonymous out)");
  }
  void Expire() override {}
  std::string Describe() const override { return "anonymous"; }
};

}  // namespace assay::storage
