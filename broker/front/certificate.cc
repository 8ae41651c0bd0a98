#include "broker/front/certificate.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string_view>

#include "broker/text.h"
#include "storage/random.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr char kChainName[] = "server.pem";
constexpr char kKeyName[] = "server.key";
constexpr int64_t kDaySeconds = 24 * 3600;
constexpr int64_t kValidSeconds = 3650 * kDaySeconds;
constexpr size_t kPemBytesMax = 1u << 20;
constexpr long kVersion3 = 2;

template <auto free>
struct Freer {
  template <typename T>
  void operator()(T* value) const {
    free(value);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using X509Owner = std::unique_ptr<X509, Freer<X509_free>>;
using Bio = std::unique_ptr<BIO, Freer<BIO_free_all>>;

absl::Status OpenSslError(std::string_view what) {
  char text[256];
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  return absl::InternalError(Concat(what, ": ", std::string_view(text)));
}

bool IsAddress(std::string_view name) {
  return name.find(':') != std::string_view::npos ||
         name.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string AlternativeNames(const std::vector<std::string>& names) {
  std::string text = "DNS:localhost,IP:127.0.0.1,IP:::1";
  for (const std::string& name : names) {
    if (name.empty() || name == "localhost" || name == "127.0.0.1" ||
        name == "::1" || name == "0.0.0.0" || name == "::") {
      continue;
    }
    Append(&text, IsAddress(name) ? ",IP:" : ",DNS:", name);
  }
  return text;
}

bool AddExtension(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr &&
         X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool Describe(X509* certificate, EVP_PKEY* key, int64_t now_s,
              const std::vector<std::string>& names) {
  // Positive, as the standard wants serial numbers.
  const auto serial = static_cast<int64_t>(SystemEntropy() >> 2) + 1;
  X509_NAME* const name = X509_get_subject_name(certificate);
  const auto* const common_name =
      reinterpret_cast<const unsigned char*>("hourglass");
  return X509_set_version(certificate, kVersion3) == 1 &&
         ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), serial) ==
             1 &&
         // A client's clock may be behind ours.
         ASN1_TIME_set(X509_getm_notBefore(certificate), now_s - kDaySeconds) !=
             nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate),
                       now_s + kValidSeconds) != nullptr &&
         X509_set_pubkey(certificate, key) == 1 &&
         X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, common_name, -1,
                                    -1, 0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1 &&
         // It is what clients are told to trust, so it is its own authority.
         AddExtension(certificate, NID_basic_constraints, "CA:TRUE") &&
         AddExtension(certificate, NID_subject_alt_name,
                      AlternativeNames(names)) &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<size_t>(size));
}

absl::StatusOr<Certificate> ToPem(X509* certificate, EVP_PKEY* key) {
  const Bio chain(BIO_new(BIO_s_mem())), secret(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(chain.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(secret.get(), key, nullptr, nullptr, 0, nullptr,
                               nullptr) != 1) {
    return OpenSslError("writing a certificate");
  }
  return Certificate{TextOf(chain.get()), TextOf(secret.get())};
}

Bio Reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A wrong file should be named at the start, not by each client's handshake.
absl::Status CheckPair(const Certificate& certificate, const Path& chain,
                       const Path& key) {
  const X509Owner x509(PEM_read_bio_X509(Reader(certificate.chain_pem).get(),
                                         nullptr, nullptr, nullptr));
  if (x509 == nullptr) {
    return absl::InvalidArgumentError(
        Concat(chain.native(), ": expected a certificate in PEM"));
  }
  const Key secret(PEM_read_bio_PrivateKey(Reader(certificate.key_pem).get(),
                                           nullptr, nullptr, nullptr));
  if (secret == nullptr) {
    return absl::InvalidArgumentError(
        Concat(key.native(), ": expected a private key in PEM, not encrypted"));
  }
  if (X509_check_private_key(x509.get(), secret.get()) == 1) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(Concat(
      key.native(), ": not the key of the certificate in ", chain.native()));
}

absl::StatusOr<std::string> ReadAll(FileSystem* fs, const Path& path) {
  ASSIGN_OR_RETURN(const auto file, fs->Open(path, {OpenMode::kRead}));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  if (size > kPemBytesMax) {
    return absl::InvalidArgumentError(
        Concat(path.native(), ": ", size,
               " bytes; expected a PEM file of at "
               "most ",
               kPemBytesMax));
  }
  std::string text(size, '\0');
  ASSIGN_OR_RETURN(const size_t n, file->ReadAt(0, size, text.data()));
  text.resize(n);
  return text;
}

absl::Status WriteAll(FileSystem* fs, const Path& path, std::string_view text,
                      bool secret) {
  const Path unfinished = path.native() + ".new";
  ASSIGN_OR_RETURN(const bool left, fs->Exists(unfinished));
  if (left) RETURN_IF_ERROR(fs->Remove(unfinished));
  OpenFlags flags;
  flags.mode = OpenMode::kCreate;
  flags.secret = secret;
  ASSIGN_OR_RETURN(auto file, fs->Open(unfinished, flags));
  RETURN_IF_ERROR(file->WriteAt(0, text));
  RETURN_IF_ERROR(file->Sync());
  file.reset();
  return fs->Rename(unfinished, path);
}

}  // namespace

absl::StatusOr<Certificate> ReadCertificate(FileSystem* fs, const Path& chain,
                                            const Path& key) {
  Certificate certificate;
  ASSIGN_OR_RETURN(certificate.chain_pem, ReadAll(fs, chain));
  ASSIGN_OR_RETURN(certificate.key_pem, ReadAll(fs, key));
  RETURN_IF_ERROR(CheckPair(certificate, chain, key));
  return certificate;
}

absl::StatusOr<Certificate> MakeCertificate(
    Clock* clock, const std::vector<std::string>& names) {
  const Key key(EVP_EC_gen("P-256"));
  const X509Owner certificate(X509_new());
  if (key == nullptr || certificate == nullptr ||
      !Describe(certificate.get(), key.get(), clock->NowMs() / 1000, names)) {
    return OpenSslError("making a certificate");
  }
  return ToPem(certificate.get(), key.get());
}

absl::StatusOr<Certificate> KeptCertificate(
    FileSystem* fs, Clock* clock, const Path& dir,
    const std::vector<std::string>& names) {
  const Path chain = dir / kChainName, key = dir / kKeyName;
  ASSIGN_OR_RETURN(const bool has_chain, fs->Exists(chain));
  ASSIGN_OR_RETURN(const bool has_key, fs->Exists(key));
  if (has_chain && has_key) return ReadCertificate(fs, chain, key);
  ASSIGN_OR_RETURN(Certificate made, MakeCertificate(clock, names));
  RETURN_IF_ERROR(fs->CreateDir(dir));
  // The certificate goes first and comes last: with it the pair is complete.
  if (has_chain) RETURN_IF_ERROR(fs->Remove(chain));
  RETURN_IF_ERROR(WriteAll(fs, key, made.key_pem, /*secret=*/true));
  RETURN_IF_ERROR(WriteAll(fs, chain, made.chain_pem, /*secret=*/false));
  RETURN_IF_ERROR(fs->SyncDir(dir));
  RETURN_IF_ERROR(fs->SyncDir(dir.parent_path()));
  return made;
}

}  // namespace hourglass
