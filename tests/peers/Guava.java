/* Guava.java - Guava's BloomFilter of byte arrays: `add CAPACITY RATE FILE` and `check FILE` with keys as lines on stdin */
import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

public class Guava {
	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
		BloomFilter<byte[]> f;

		if (args[0].equals("add"))
			f = BloomFilter.create(Funnels.byteArrayFunnel(), Long.parseLong(args[1]), Double.parseDouble(args[2]));
		else
			f = BloomFilter.readFrom(new FileInputStream(args[1]), Funnels.byteArrayFunnel());
		for (String line; (line = in.readLine()) != null; ) {
			byte[] key = line.getBytes(StandardCharsets.UTF_8);

			if (args[0].equals("add"))
				f.put(key);
			else if (f.mightContain(key))
				System.out.println(line);
		}
		if (args[0].equals("add"))
			try (FileOutputStream out = new FileOutputStream(args[3])) {
				f.writeTo(out);
			}
	}
}
