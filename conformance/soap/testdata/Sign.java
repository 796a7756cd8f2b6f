import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.apache.ws.security.WSConstants;
import org.apache.ws.security.WSEncryptionPart;
import org.apache.ws.security.WSSConfig;
import org.apache.ws.security.WSSecurityEngine;
import org.apache.ws.security.WSSecurityEngineResult;
import org.apache.ws.security.components.crypto.CryptoBase;
import org.apache.ws.security.components.crypto.Merlin;
import org.apache.ws.security.handler.RequestData;
import org.apache.ws.security.message.WSSecHeader;
import org.apache.ws.security.message.WSSecSignature;
import org.apache.ws.security.message.WSSecTimestamp;
import org.apache.ws.security.message.WSSecUsernameToken;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * Signs an envelope with WSS4J in the way that its variant names, sends it, and
 * checks the signature of the answer. With - for url it prints what it has signed.
 *
 * java Sign.java url key cert service-cert envelope variant
 */
public class Sign {
    public static void main(String[] args) throws Exception {
        WSSConfig.init();
        Merlin own = store("partner", certificate(args[2]), key(args[1]));
        Merlin service = store("service", certificate(args[3]), null);
        Document doc = read(Files.newInputStream(Path.of(args[4])));
        String signed = text(sign(doc, own, args[5]));
        if (args[0].equals("-")) {
            System.out.print(signed);
            return;
        }
        HttpURLConnection c = (HttpURLConnection) new URL(args[0]).openConnection();
        c.setDoOutput(true);
        c.setRequestProperty("Content-Type", "text/xml; charset=utf-8");
        c.setRequestProperty("SOAPAction", "\"\"");
        try (OutputStream out = c.getOutputStream()) {
            out.write(signed.getBytes(StandardCharsets.UTF_8));
        }
        try (InputStream in = c.getResponseCode() == 200 ? c.getInputStream() : c.getErrorStream()) {
            Document answer = read(in);
            check(answer, service);
            System.out.println(text(answer));
        }
    }

    static Document sign(Document doc, Merlin own, String variant) throws Exception {
        WSSecHeader header = new WSSecHeader();
        header.insertSecurityHeader(doc);
        WSSecTimestamp stamp = new WSSecTimestamp();
        stamp.setTimeToLive(300);
        stamp.build(doc, header);

        WSSecSignature s = new WSSecSignature();
        s.setUserInfo("partner", "secret");
        s.setSignatureAlgorithm("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256");
        s.setDigestAlgo("http://www.w3.org/2001/04/xmlenc#sha256");
        s.setKeyIdentifierType(WSConstants.BST_DIRECT_REFERENCE);
        List<WSEncryptionPart> parts = new ArrayList<>();
        parts.add(new WSEncryptionPart("Timestamp", WSConstants.WSU_NS, ""));
        parts.add(new WSEncryptionPart("Body", "http://schemas.xmlsoap.org/soap/envelope/", ""));
        switch (variant) {
            case "direct":
                break;
            case "issuerserial":
                s.setKeyIdentifierType(WSConstants.ISSUER_SERIAL);
                break;
            case "ski":
                s.setKeyIdentifierType(WSConstants.SKI_KEY_IDENTIFIER);
                break;
            case "x509":
                s.setKeyIdentifierType(WSConstants.X509_KEY_IDENTIFIER);
                break;
            case "thumbprint":
                s.setKeyIdentifierType(WSConstants.THUMBPRINT_IDENTIFIER);
                break;
            case "str":
                parts.add(new WSEncryptionPart("STRTransform", "", "Content"));
                break;
            case "str-issuerserial":
                s.setKeyIdentifierType(WSConstants.ISSUER_SERIAL);
                parts.add(new WSEncryptionPart("STRTransform", "", "Content"));
                break;
            case "str-thumbprint":
                s.setKeyIdentifierType(WSConstants.THUMBPRINT_IDENTIFIER);
                parts.add(new WSEncryptionPart("STRTransform", "", "Content"));
                break;
            case "str-ski":
                s.setKeyIdentifierType(WSConstants.SKI_KEY_IDENTIFIER);
                parts.add(new WSEncryptionPart("STRTransform", "", "Content"));
                break;
            case "str-x509":
                s.setKeyIdentifierType(WSConstants.X509_KEY_IDENTIFIER);
                parts.add(new WSEncryptionPart("STRTransform", "", "Content"));
                break;
            case "path":
                s.setUseSingleCertificate(false);
                break;
            case "sha1":
                s.setSignatureAlgorithm("http://www.w3.org/2000/09/xmldsig#rsa-sha1");
                s.setDigestAlgo("http://www.w3.org/2000/09/xmldsig#sha1");
                break;
            case "inclusive":
                s.setSigCanonicalization("http://www.w3.org/TR/2001/REC-xml-c14n-20010315");
                break;
            case "user":
                WSSecUsernameToken token = new WSSecUsernameToken();
                token.setPasswordType(WSConstants.PASSWORD_TEXT);
                token.setUserInfo("partner", "correct horse battery");
                token.build(doc, header);
                parts.add(new WSEncryptionPart("UsernameToken", WSConstants.WSSE_NS, ""));
                break;
            default:
                throw new IllegalArgumentException(variant);
        }
        s.setParts(parts);
        s.build(doc, own, header);
        return doc;
    }

    /** Throws unless the answer is signed by the service, Body and Timestamp included. */
    static void check(Document answer, Merlin service) throws Exception {
        WSSecurityEngine engine = new WSSecurityEngine();
        List<WSSecurityEngineResult> results = engine.processSecurityHeader(answer, null, null, service);
        if (results == null) {
            throw new Exception("the answer has no Security header: " + text(answer));
        }
        int signatures = 0;
        for (WSSecurityEngineResult r : results) {
            int action = (Integer) r.get(WSSecurityEngineResult.TAG_ACTION);
            if (action == WSConstants.SIGN) {
                signatures++;
                List<?> refs = (List<?>) r.get(WSSecurityEngineResult.TAG_DATA_REF_URIS);
                if (refs.size() < 2) {
                    throw new Exception("the signature covers " + refs.size() + " elements");
                }
            }
        }
        if (signatures != 1) {
            throw new Exception("the answer has " + signatures + " signatures: " + text(answer));
        }
    }

    static Merlin store(String alias, X509Certificate cert, PrivateKey key) throws Exception {
        KeyStore ks = KeyStore.getInstance("PKCS12");
        ks.load(null, null);
        if (key != null) {
            ks.setKeyEntry(alias, key, "secret".toCharArray(), new Certificate[] {cert});
        } else {
            ks.setCertificateEntry(alias, cert);
        }
        Merlin m = new Merlin();
        m.setKeyStore(ks);
        m.setDefaultX509Identifier(alias);
        return m;
    }

    static X509Certificate certificate(String file) throws Exception {
        try (InputStream in = Files.newInputStream(Path.of(file))) {
            return (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
        }
    }

    static PrivateKey key(String file) throws Exception {
        String pem = Files.readString(Path.of(file)).replaceAll("-----[A-Z ]+-----|\\s", "");
        return KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(pem)));
    }

    static Document read(InputStream in) throws Exception {
        DocumentBuilderFactory f = DocumentBuilderFactory.newInstance();
        f.setNamespaceAware(true);
        return f.newDocumentBuilder().parse(new ByteArrayInputStream(in.readAllBytes()));
    }

    static String text(Document doc) throws Exception {
        StringWriter out = new StringWriter();
        TransformerFactory.newInstance().newTransformer().transform(new DOMSource(doc), new StreamResult(out));
        return out.toString();
    }
}
