#include "storage/oci/oci_kind.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "storage/oci/oci_signer.h"
#include "storage/oci/oci_store.h"
#include "storage/store_environment.h"

namespace assay::storage {
namespace {

constexpr std::string_view kOciSchemes[] = {"oci"};
constexpr OptionFlag kCompartmentFlags[] = {{.names = "--compartment", .help = "OCI: id of that of new buckets"}};
constexpr OwnOption kOciOptions[] = {{.key = "compartment",
                                      .variable = "ASSAY_STORAGE_COMPARTMENT",
                                      .meaning = "OCI: compartment id",
                                      .flags = kCompartmentFlags}};
// "CLI Environment Variables" of the Oracle Cloud Infrastructure documentation.
constexpr ForeignVariable kOciVariables[] = {{"OCI_CLI_ENDPOINT", "endpoint"},
                                             {"OCI_CLI_REGION", "region"},
                                             {"OCI_CLI_COMPARTMENT_ID", "compartment"},
                                             {"OCI_CLI_CERT_BUNDLE", "ca_file"}};

Result<std::unique_ptr<ObjectStore>> OpenOci(const StoreUri& uri, const StoreOptions& options) {
  const size_t at = uri.bucket.rfind('@');
  if (at == std::string::npos || at == 0 || at + 1 == uri.bucket.size()) {
    return Status::InvalidArgument("cannot open oci://" + uri.bucket +
                                   ": it names no namespace (write oci://bucket@namespace/key)");
  }
  const Environment environment = EnvironmentOf(options);
  ASSAY_ASSIGN_OR_RETURN(const OciSettings settings, ResolveOciSettings(options, environment));
  if (options.endpoint.empty() && settings.region.empty()) {
    return Status::InvalidArgument("cannot open oci://" + uri.bucket +
                                   ": neither a region nor an endpoint is known (set --region, OCI_CLI_REGION or the "
                                   "profile's region in ~/.oci/config)");
  }
  const std::string endpoint = options.endpoint.empty()
                                   ? fmt::format("https://objectstorage.{}.oraclecloud.com", settings.region)
                                   : options.endpoint;
  auto dialect =
      std::make_unique<OciDialect>(OciUrls(endpoint, uri.bucket.substr(at + 1), uri.bucket.substr(0, at)), options);
  StoreOptions signing = options;
  signing.anonymous |= dialect->urls().preauthenticated();
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Signer> signer, MakeOciSigner(signing, environment));
  return std::unique_ptr<ObjectStore>(
      std::make_unique<OciStore>(std::move(dialect), std::move(signer), options, settings.region));
}

}  // namespace

constinit const StoreKind kOciKind = {.name = "oci",
                                      .schemes = kOciSchemes,
                                      .pattern = "oci://bucket@namespace/key",
                                      .parse = ParseBucketUri,
                                      .open = OpenOci,
                                      .options = kOciOptions,
                                      .variables = kOciVariables};

}  // namespace assay::storage
