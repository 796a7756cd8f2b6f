import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import javax.xml.parsers.DocumentBuilderFactory;
import org.apache.xml.security.Init;
import org.apache.xml.security.c14n.Canonicalizer;
import org.w3c.dom.Document;

/**
 * Writes the canonical forms of elements by Apache Santuario. Each line of the input is
 * "document;number of the element;prefixes", the document in base64; each
 * line of the output is "exclusive;inclusive", both in base64.
 */
public class Canonical {
    public static void main(String[] args) throws Exception {
        Init.init();
        DocumentBuilderFactory f = DocumentBuilderFactory.newInstance();
        f.setNamespaceAware(true);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(";", -1);
            Document doc = f.newDocumentBuilder().parse(new ByteArrayInputStream(Base64.getDecoder().decode(parts[0])));
            org.w3c.dom.Node e = doc.getElementsByTagName("*").item(Integer.parseInt(parts[1]));
            byte[] exclusive = Canonicalizer.getInstance(Canonicalizer.ALGO_ID_C14N_EXCL_OMIT_COMMENTS).canonicalizeSubtree(e, parts[2]);
            byte[] inclusive = Canonicalizer.getInstance(Canonicalizer.ALGO_ID_C14N_OMIT_COMMENTS).canonicalizeSubtree(e);
            System.out.println(Base64.getEncoder().encodeToString(exclusive) + ";" + Base64.getEncoder().encodeToString(inclusive));
        }
    }
}
